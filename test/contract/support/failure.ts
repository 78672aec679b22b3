import { type Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@reverie/proto/rpc";
import { expect } from "vitest";

/** What a caller learns of a failure, whatever the transport. */
export interface Failure {
  readonly code: Code;
  readonly message: string;
  readonly reason: string;
  readonly metadata: Record<string, string>;
  /** Of BadRequest. */
  readonly violations: readonly { field: string; description: string }[];
  readonly fields: readonly string[];
  /** Of RetryInfo, milliseconds. */
  readonly retryMs: number | undefined;
}

/** What the call fails with. Checks on the way what holds for every error of the contract. */
export async function failureOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<Failure> {
  const error = await caught(call);
  const infos = error.findDetails(ErrorInfoSchema);
  expect(infos, `one ErrorInfo beside "${error.message}"`).toHaveLength(1);
  expect(infos[0]?.domain).toBe("reverie");
  expect(error.rawMessage.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(error.rawMessage)).toBeLessThanOrEqual(1024);
  const texts = [error.rawMessage, JSON.stringify(infos[0]?.metadata)].join(" ");
  expect(texts).not.toMatch(/reverie-contract-|\.jsonl|\bat .*:\d+:\d+|node_modules/);
  const violations = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    code: error.code,
    message: error.rawMessage,
    reason: infos[0]?.reason ?? "",
    metadata: infos[0]?.metadata ?? {},
    violations,
    fields: violations.map((violation) => violation.field),
    retryMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  };
}

/** The same of several calls at once. */
export function failuresOf(calls: readonly (Promise<unknown> | AsyncIterable<unknown>)[]): Promise<Failure[]> {
  return Promise.all(calls.map(failureOf));
}

/** The ConnectError that the call fails with; one without our details is fine. */
export async function caught(call: Promise<unknown> | AsyncIterable<unknown>): Promise<ConnectError> {
  try {
    if (Symbol.asyncIterator in call) for await (const _ of call);
    else await call;
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}
