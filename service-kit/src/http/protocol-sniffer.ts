import type { Socket } from "node:net";

// An HTTP/2 client begins with "PRI * HTTP/2.0"; no HTTP/1 method begins so.
const PREFACE = Buffer.from("PRI ");
// A peer that says nothing for so long is cut.
const FIRST_BYTES_MS = 10_000;

/** Looks at a connection's first bytes and says what it speaks. The bytes stay readable. */
export function sniffProtocol(socket: Socket, decided: (protocol: "http1" | "http2") => void): void {
  let head: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), FIRST_BYTES_MS);
  timer.unref();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("readable", onReadable);
    socket.off("close", stop);
    socket.off("end", onEnd);
  };
  const onEnd = (): void => {
    stop();
    socket.destroy();
  };
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const length = Math.min(head.length, PREFACE.length);
    const isPreface = head.compare(PREFACE, 0, length, 0, length) === 0;
    if (isPreface && length < PREFACE.length) return;
    stop();
    socket.unshift(head);
    decided(isPreface ? "http2" : "http1");
  };
  socket.on("readable", onReadable);
  socket.once("close", stop);
  socket.once("end", onEnd);
}
