const cleanups = new Set<() => void>();
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
let listening = false;

/** Runs a clean-up when this process ends, also by SIGINT or SIGTERM. Returns what takes it back. */
export function atExit(cleanup: () => void): () => void {
  if (!listening) {
    listening = true;
    process.once("exit", runAll);
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => process.exit(code));
  }
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

/** The latest first. */
function runAll(): void {
  for (const cleanup of [...cleanups].reverse()) {
    try {
      cleanup();
    } catch {
      // The next one may still work.
    }
  }
}
