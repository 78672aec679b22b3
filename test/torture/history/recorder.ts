import { AsyncLocalStorage } from "node:async_hooks";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { formatOwner, type Owner } from "@reverie/client";
import { toReverieError } from "../../../clients/typescript/src/to-reverie-error.js";
import type { Arguments, CallName, Operation } from "./operation.js";
import { replyOf } from "./replies.js";

/** One call, whose attempts are recorded as operations. */
interface Call {
  readonly owner: string;
  readonly call: CallName;
  readonly args: object;
}

/** Refusals say that nothing was done; so do these. */
const NOTHING_DONE = ["CONNECTION_FAILED", "DRAINING", "OVERLOADED"];
/** What no correct service answers to these calls. */
const TROUBLE = ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN"];

/** Writes down each attempt of each call that is made through `interceptor` within `during`. */
export class Recorder {
  /** By owner. */
  readonly operations = new Map<string, Operation[]>();
  /** Answers that no contract knows. */
  readonly strange: string[] = [];
  unknown = 0;
  attempts = 0;
  private open: Operation[] = [];
  private readonly call = new AsyncLocalStorage<Call>();

  during<C extends CallName, T>(owner: Owner, call: C, args: Arguments<C>, run: () => Promise<T>): Promise<T> {
    return this.call.run({ owner: formatOwner(owner), call, args }, run);
  }

  /** The process that unknown calls were sent to is gone: they are done by now, or never. */
  processEnded(): void {
    const end = performance.now();
    for (const operation of this.open) Object.assign(operation, { end: Math.max(end, operation.begin) });
    this.open = [];
  }

  readonly interceptor: Interceptor = (next) => async (request) => {
    const call = this.call.getStore();
    if (call === undefined) return next(request);
    const begin = performance.now();
    const failed = (error: unknown): void => this.failed(call, begin, error);
    const answered = (messages: readonly Message[]): void => this.answered(call, begin, messages);
    try {
      const response = await next(request);
      if (!response.stream) answered([response.message]);
      return response.stream ? { ...response, message: watched(response, answered, failed) } : response;
    } catch (error) {
      failed(error);
      throw error;
    }
  };

  private answered({ owner, call, args }: Call, begin: number, messages: readonly Message[]): void {
    const reply = replyOf(call, messages);
    this.add(owner, { call, ...args, begin, end: performance.now(), reply } as unknown as Operation);
  }

  private failed({ owner, call, args }: Call, begin: number, thrown: unknown): void {
    const { code, reason } = toReverieError(thrown, { target: "", method: call });
    if (NOTHING_DONE.includes(reason)) return;
    const operation = { call, ...args, begin } as unknown as Operation;
    if (!TROUBLE.includes(code)) {
      this.add(owner, { ...operation, end: performance.now(), reply: { refused: reason } });
      return;
    }
    if (code === "UNKNOWN") this.strange.push(`${call}: ${thrown}`);
    this.unknown++;
    const open = { ...operation, end: Number.POSITIVE_INFINITY };
    this.open.push(open);
    this.add(owner, open);
  }

  private add(owner: string, operation: Operation): void {
    this.attempts++;
    const list = this.operations.get(owner);
    if (list === undefined) this.operations.set(owner, [operation]);
    else list.push(operation);
  }
}

/** The messages as they pass; told when all came, or one didn't. */
async function* watched<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
  answered: (messages: readonly Message[]) => void,
  failed: (error: unknown) => void,
): AsyncGenerator<UnaryResponse<I, O>["message"]> {
  const messages: UnaryResponse<I, O>["message"][] = [];
  try {
    for await (const message of response.message) {
      messages.push(message);
      yield message;
    }
  } catch (error) {
    failed(error);
    throw error;
  }
  answered(messages);
}
