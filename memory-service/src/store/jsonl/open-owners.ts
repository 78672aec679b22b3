import { ReverieError } from "@reverie/service-kit/errors";
import type { OwnerRef } from "../store.js";
import { errorCode } from "./fs.js";
import { Owner } from "./owner.js";
import { type OwnerContext, OwnerGone } from "./owner-context.js";
import { asCallError, isDiskFull } from "./storage-error.js";

/** An owner whose files keep changing under us is given up after this many tries. */
const GONE_TRIES = 5;

/** The owners that are open: one object an owner, the least recently used closed beyond a number. */
export class OpenOwners {
  /** Least recently used first. */
  private readonly owners = new Map<string, Owner>();
  private readonly opening = new Map<string, Promise<void>>();
  private readonly closing = new Set<Promise<void>>();
  private ended = false;

  constructor(
    private readonly context: OwnerContext,
    private readonly most: number,
  ) {}

  /** Owners that take no writes after a failure. */
  get stopped(): number {
    let stopped = 0;
    for (const owner of this.owners.values()) if (owner.writer.isStopped) stopped++;
    return stopped;
  }

  /** Repeats where the owner's directory was moved away or changed under us meanwhile. */
  async use<T>(ref: OwnerRef, run: (owner: Owner) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const owner = this.pin(ref) ?? (await this.acquire(ref));
      try {
        return await run(owner);
      } catch (error) {
        if (!(error instanceof OwnerGone)) throw asCallError(error, this.context.log, keyOf(ref));
        if (tries >= GONE_TRIES) {
          throw new ReverieError(
            "LOG_STOPPED",
            "the owner's files keep being changed by another process; nothing of this call was stored",
            { retryAfterMs: 1000, cause: error },
          );
        }
      } finally {
        this.release(owner);
      }
    }
  }

  /** Runs with no change of the owner beside it. */
  turn<T>(ref: OwnerRef, run: (owner: Owner) => Promise<T>): Promise<T> {
    return this.use(ref, (owner) => owner.writer.exclusive(() => run(owner)));
  }

  /** For what makes room, and can be begun again: on a full disk it gets the space kept aside. */
  freeingTurn<T>(ref: OwnerRef, run: (owner: Owner) => Promise<T>): Promise<T> {
    return this.turn(ref, async (owner) => {
      try {
        return await run(owner);
      } catch (error) {
        if (!isDiskFull(error) || owner.gone || !(await this.context.reserve.spend())) throw error;
        return await run(owner);
      }
    });
  }

  /** Opens the owner if need be; it stays open until it is released. */
  async acquire(ref: OwnerRef): Promise<Owner> {
    for (;;) {
      if (this.ended) {
        throw new ReverieError("DRAINING", "the service is shutting down; try again on the next one", {
          retryAfterMs: 1000,
        });
      }
      const owner = this.pin(ref);
      if (owner !== undefined) return owner;
      await (this.opening.get(keyOf(ref)) ?? this.open(ref));
    }
  }

  release(owner: Owner): void {
    owner.pins--;
    if (owner.gone && owner.pins === 0) this.closeLater(owner);
    else if (this.owners.size > this.most) this.evict(undefined);
  }

  /** The owner's name leads elsewhere from now on. */
  drop(owner: Owner): void {
    owner.leave();
    if (this.owners.get(owner.key) === owner) this.owners.delete(owner.key);
    this.context.changed(owner.key);
    if (owner.pins === 0) this.closeLater(owner);
  }

  /** Finishes what is under way. */
  async close(): Promise<void> {
    this.ended = true;
    await Promise.allSettled(this.opening.values());
    const closed = await Promise.allSettled([...this.owners.values()].map((owner) => owner.close()));
    for (const owner of this.owners.values()) owner.leave();
    this.owners.clear();
    await Promise.all(this.closing);
    for (const one of closed) if (one.status === "rejected") throw one.reason;
  }

  private pin(ref: OwnerRef): Owner | undefined {
    const key = keyOf(ref);
    const owner = this.owners.get(key);
    if (owner === undefined || this.ended) return undefined;
    if (owner.gone) {
      this.drop(owner);
      return undefined;
    }
    this.owners.delete(key);
    this.owners.set(key, owner);
    owner.pins++;
    return owner;
  }

  private open(ref: OwnerRef): Promise<void> {
    this.context.names.checkPossible(ref);
    const key = keyOf(ref);
    const opened = this.openInto(ref).finally(() => this.opening.delete(key));
    this.opening.set(key, opened);
    return opened;
  }

  private async openInto(ref: OwnerRef): Promise<void> {
    let owner = new Owner(ref, this.context);
    try {
      try {
        await owner.open();
      } catch (error) {
        // A torn tail to put aside needs room, and without it nothing could be forgotten.
        if (!isDiskFull(error) || !(await this.context.reserve.spend())) throw error;
        owner = new Owner(ref, this.context);
        await owner.open();
      }
    } catch (error) {
      throw this.refused(owner, error);
    }
    this.owners.set(owner.key, owner);
    this.evict(owner);
  }

  private refused(owner: Owner, error: unknown): unknown {
    const code = errorCode(error);
    if (code !== "EACCES" && code !== "EPERM") return asCallError(error, this.context.log, owner.key);
    this.context.log.error({ owner: owner.key, directory: owner.directory, code }, "an owner's files can't be opened");
    return new ReverieError(
      "OWNER_PATH_UNSAFE",
      "the service may not open the owner's files; the operator gives them to the service's user",
      { cause: error },
    );
  }

  private evict(keep: Owner | undefined): void {
    for (const [key, owner] of this.owners) {
      if (this.owners.size <= this.most) return;
      if (owner === keep || owner.pins > 0 || !owner.writer.isIdle || owner.writer.isStopped) continue;
      this.owners.delete(key);
      owner.leave();
      this.closeLater(owner);
    }
  }

  private closeLater(owner: Owner): void {
    const closed = owner
      .close()
      .catch((error: unknown) =>
        this.context.log.warn({ owner: owner.key, err: error }, "an owner's files could not be closed"),
      )
      .finally(() => this.closing.delete(closed));
    this.closing.add(closed);
  }
}

export function keyOf(ref: OwnerRef): string {
  return `${ref.kind}/${ref.id}`;
}
