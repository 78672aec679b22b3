import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { checkout, mainEntry } from "../../e2e/support/service-process.js";
import { atExit } from "../at-exit.js";

/** The service's sources as single files that plain Node runs: they start in a third of the time. */
export interface ServiceBundle {
  /** The service. */
  readonly main: string;
  /** The test build whose file system dies with it; see `victim.ts`. */
  readonly victim: string;
  remove(): void;
}

/** Only our own packages are taken in: the others stay as they are installed. Takes half a second. */
export async function bundleService(): Promise<ServiceBundle> {
  const conditions = ["@reverie/source", "node", "module", "import", "default"];
  // Beside the packages that it imports, which are looked for from where it stands.
  const parent = `${checkout}node_modules/.cache/reverie-torture`;
  mkdirSync(parent, { recursive: true });
  const home = mkdtempSync(`${parent}/`);
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  const forget = atExit(remove);
  // The service reads its version there.
  copyFileSync(`${checkout}memory-service/package.json`, join(home, "package.json"));
  await build({
    root: checkout,
    configFile: false,
    logLevel: "error",
    resolve: { conditions },
    ssr: { noExternal: [/^@reverie\//], resolve: { conditions } },
    build: {
      ssr: true,
      target: "node20",
      outDir: join(home, "dist"),
      rolldownOptions: {
        input: { main: mainEntry, victim: `${checkout}test/torture/kills/victim.ts` },
        output: { chunkFileNames: "[name].js" },
      },
    },
  });
  return {
    main: join(home, "dist/main.js"),
    victim: join(home, "dist/victim.js"),
    remove: () => {
      forget();
      remove();
    },
  };
}
