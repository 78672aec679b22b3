import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { checkout, mainEntry } from "../e2e/support/service-process.js";
import { atExit } from "./at-exit.js";

/** Programs of this checkout as single files that plain Node runs: they start in a third of the time. */
export interface ServiceBundle {
  /** The service. */
  readonly main: string;
  /** Another program that was named. */
  file(name: string): string;
  remove(): void;
}

/** Only our own packages are taken in: the others stay as they are installed. Takes half a second. */
export async function bundleService(programs: Readonly<Record<string, string>> = {}): Promise<ServiceBundle> {
  const conditions = ["@reverie/source", "node", "module", "import", "default"];
  // Beside the packages that it imports, which are looked for from where it stands.
  const parent = `${checkout}node_modules/.cache/reverie-bundles`;
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
        input: { ...programs, main: mainEntry },
        output: { chunkFileNames: "[name].js" },
      },
    },
  });
  const file = (name: string): string => join(home, `dist/${name}.js`);
  return {
    main: file("main"),
    file,
    remove: () => {
      forget();
      remove();
    },
  };
}
