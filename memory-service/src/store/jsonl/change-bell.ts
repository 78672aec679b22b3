/** Wakes those who wait for an owner to change. */
export class ChangeBell {
  private readonly waiting = new Map<string, Set<Listener>>();

  ring(key: string): void {
    for (const listener of this.waiting.get(key) ?? []) listener.ring();
  }

  /** What rings between two waits is not missed. */
  listen(key: string): Listener {
    const listeners = this.waiting.get(key) ?? new Set();
    this.waiting.set(key, listeners);
    const listener = new Listener(() => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.waiting.get(key) === listeners) this.waiting.delete(key);
    });
    listeners.add(listener);
    return listener;
  }
}

export class Listener {
  private rung = false;
  private wake: (() => void) | undefined;

  constructor(readonly close: () => void) {}

  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** True when it rang; false after `ms` of silence, or when aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.rung && !signal.aborted) await this.silence(ms, signal);
    const { rung } = this;
    this.rung = false;
    return rung;
  }

  private silence(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end);
      this.wake = end;
    });
  }
}
