import type { Channel } from "@grpc/grpc-js";
import { CallSlot } from "./call.js";

/** A connection carries 100 streams, and every further call waits without a word. */
const MAX_CALLS = 90;

/** Channels for calls that stay open, so that they never stand in the way of others; more are opened as needed. */
export class SlotPool {
  readonly #open: () => Channel;
  readonly #slots: CallSlot[] = [];
  #closed = false;

  constructor(open: () => Channel) {
    this.#open = open;
  }

  /** The slot for one more call, to be made at once. */
  take(): CallSlot {
    let slot = this.#slots.find(({ openCalls }) => openCalls < MAX_CALLS);
    if (slot === undefined) {
      slot = new CallSlot(this.#open());
      this.#slots.push(slot);
      if (this.#closed) slot.close();
    }
    return slot;
  }

  close(): void {
    this.#closed = true;
    for (const slot of this.#slots) slot.close();
  }
}
