import type { ServerHttp2Session } from "node:http2";
import { KEEPALIVE_INTERVAL_MS, KEEPALIVE_TIMEOUT_MS } from "../rpc/limits.js";

/** Pings an HTTP/2 session and ends it when no answer comes. */
export function keepSessionAlive(session: ServerHttp2Session): void {
  let overdue: NodeJS.Timeout | undefined;
  const interval = setInterval(() => {
    if (session.destroyed || overdue !== undefined) return;
    overdue = setTimeout(() => session.destroy(), KEEPALIVE_TIMEOUT_MS);
    overdue.unref();
    session.ping(() => {
      clearTimeout(overdue);
      overdue = undefined;
    });
  }, KEEPALIVE_INTERVAL_MS);
  interval.unref();
  session.once("close", () => {
    clearInterval(interval);
    clearTimeout(overdue);
  });
}
