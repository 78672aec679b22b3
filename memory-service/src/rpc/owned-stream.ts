import type { Owner } from "@reverie/proto/memory";
import { fieldInvalid } from "../domain/limits.js";
import type { OwnerRef } from "../store/store.js";
import { ownerOf } from "./convert.js";

/**
 * Runs a call whose requests name the owner in the first message and may repeat it, but name no other. However it
 * ends, the rest of the requests is given up.
 */
export async function withOwner<M extends { owner?: Owner | undefined }, T, R>(
  requests: AsyncIterable<M>,
  content: (request: M) => T,
  run: (owner: OwnerRef, contents: AsyncIterable<T>) => Promise<R>,
): Promise<R> {
  const iterator = requests[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    if (first.done === true || first.value.owner === undefined) {
      throw fieldInvalid("owner", "is required in the first message");
    }
    const owner = ownerOf(first.value.owner);
    return await run(owner, contentsOf(first.value, iterator, owner, content));
  } finally {
    await iterator.return?.();
  }
}

async function* contentsOf<M extends { owner?: Owner | undefined }, T>(
  first: M,
  rest: AsyncIterator<M>,
  owner: OwnerRef,
  content: (request: M) => T,
): AsyncGenerator<T, void> {
  yield content(first);
  for (;;) {
    const next = await rest.next();
    if (next.done === true) return;
    const again = next.value.owner === undefined ? owner : ownerOf(next.value.owner);
    if (again.kind !== owner.kind || again.id !== owner.id) {
      throw fieldInvalid("owner", "must be that of the first message; use another stream for another owner");
    }
    yield content(next.value);
  }
}
