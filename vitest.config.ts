import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

// Workspace packages are read as TypeScript sources; tests need no build.
const conditions = ["@reverie/source", ...defaultServerConditions];
const resolve = { conditions };
const ssr = { resolve: { conditions, externalConditions: ["@reverie/source", "node", "module-sync"] } };

interface Suite {
  readonly name: string;
  readonly include: readonly string[];
  /** The longest that one test may take, milliseconds. */
  readonly testTimeoutMs: number;
  /** The files share a process: each starts its servers, none touches what others see. */
  readonly shared?: boolean;
}

function suite({ name, include, testTimeoutMs, shared = false }: Suite) {
  return {
    resolve,
    ssr,
    test: {
      name,
      include: [...include],
      pool: "forks" as const,
      server: { deps: { inline: [/[\\/]@reverie[\\/]/] } },
      testTimeout: testTimeoutMs,
      hookTimeout: 30_000,
      restoreMocks: true,
      isolate: !shared,
    },
  };
}

export default defineConfig({
  test: {
    // Much of a test's time is waiting, for a disk or a process.
    maxWorkers: "100%",
    projects: [
      suite({
        name: "unit",
        include: [
          "service-kit/test/**/*.test.ts",
          "memory-service/test/**/*.test.ts",
          "clients/*/test/**/*.test.ts",
          "scripts/test/**/*.test.ts",
          "test/bench/**/*.test.ts",
          "test/lib/**/*.test.ts",
          "test/torture/**/*.test.ts",
        ],
        testTimeoutMs: 20_000,
      }),
      suite({ name: "contract", include: ["test/contract/**/*.test.ts"], testTimeoutMs: 20_000, shared: true }),
      suite({ name: "e2e", include: ["test/e2e/**/*.test.ts"], testTimeoutMs: 60_000 }),
    ],
  },
});
