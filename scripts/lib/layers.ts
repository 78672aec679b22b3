import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

interface Layer {
  readonly name: string;
  /** Which files are in it, as paths from the root. The first layer that matches counts. */
  readonly files: RegExp;
  /** Layers of the same package that it may import. */
  readonly layers: readonly string[] | "all";
  /** Which specifiers of packages (and of Node) it may not import. */
  readonly forbidden?: RegExp;
}

const protocol = "@(bufbuild|connectrpc|grpc)/|grpc-health-check|@reverie/proto";
const ours = "@reverie/";
const errorsOnly = "@reverie/(?!service-kit/errors$)";
const otherServices = /^@reverie\/(?!proto\/|service-kit(\/|$))/;
const fileSystem = "(node:)?fs(/|$)|fs-native-extensions";

/** Where imports may point. Tests are free. */
export const layers: readonly Layer[] = [
  { name: "service", files: /^\w+-service\/src\/[^/]+\.ts$/, layers: "all", forbidden: otherServices },
  {
    name: "rpc",
    files: /^\w+-service\/src\/rpc\//,
    layers: ["rpc", "domain", "store interface", "text"],
    forbidden: otherServices,
  },
  {
    name: "domain",
    files: /^\w+-service\/src\/domain\//,
    layers: ["domain", "store interface", "text"],
    forbidden: new RegExp(`^(${protocol}|${errorsOnly}|${fileSystem})`),
  },
  {
    name: "store interface",
    files: /^\w+-service\/src\/store\/store\.ts$/,
    layers: ["text"],
    forbidden: new RegExp(`^(${protocol}|${errorsOnly}|${fileSystem})`),
  },
  {
    name: "store",
    files: /^\w+-service\/src\/store\//,
    layers: ["store", "store interface", "text"],
    forbidden: new RegExp(`^(${protocol}|${errorsOnly})`),
  },
  {
    name: "text",
    files: /^\w+-service\/src\/text\//,
    layers: ["text"],
    forbidden: new RegExp(`^(${protocol}|${ours}|${fileSystem})`),
  },
  {
    name: "service-kit",
    files: /^service-kit\/src\//,
    layers: ["service-kit"],
    forbidden: /^@reverie\/(?!proto\/)/,
  },
  {
    name: "client",
    files: /^clients\/[^/]+\/src\//,
    layers: ["client"],
    // `reverie check` reads a data directory with no service beside it.
    forbidden: /^@reverie\/(?!proto\/|client$|memory-service\/check$)/,
  },
  { name: "proto", files: /^proto\/(?!dist\/)/, layers: ["proto"], forbidden: new RegExp(`^${ours}`) },
];

/** One line for each import under `root` that points the wrong way, and for each source file without a layer. */
export function findLayerViolations(root: string): string[] {
  return sourceFiles(root).flatMap((path) => {
    const layer = layerOf(path);
    if (layer === undefined) return [`${path}: in no layer; name its folder in scripts/lib/layers.ts`];
    return importsOf(join(root, path)).flatMap(({ specifier, line }) => {
      const problem = specifier.startsWith(".")
        ? relativeProblem(path, layer, specifier)
        : packageProblem(layer, specifier);
      return problem === undefined ? [] : [`${path}:${line}: ${problem}`];
    });
  });
}

function relativeProblem(path: string, layer: Layer, specifier: string): string | undefined {
  const target = join(dirname(path), specifier).replace(/\.js$/, ".ts");
  if (packageOf(target) !== packageOf(path)) return `${specifier} leaves the package; import it by its name`;
  const other = layerOf(target);
  if (other === undefined) return `${specifier} is in no layer`;
  if (layer.layers === "all" || layer.layers.includes(other.name)) return undefined;
  return `${layer.name} may not import ${other.name} (${specifier})`;
}

function packageProblem(layer: Layer, specifier: string): string | undefined {
  if (builtinModules.includes(specifier)) return `write node:${specifier}`;
  return layer.forbidden?.test(specifier) ? `${layer.name} may not import ${specifier}` : undefined;
}

function layerOf(path: string): Layer | undefined {
  return layers.find((layer) => layer.files.test(path));
}

function packageOf(path: string): string {
  return path
    .split("/")
    .slice(0, path.startsWith("clients/") ? 2 : 1)
    .join("/");
}

function sourceFiles(root: string): string[] {
  const packages = readdirSync(root).filter((name) => name === "service-kit" || name.endsWith("-service"));
  const clients = readdirSync(join(root, "clients")).map((name) => `clients/${name}`);
  return [...packages, ...clients]
    .flatMap((name) => filesUnder(root, `${name}/src`))
    .concat(filesUnder(root, "proto").filter((path) => !/\/(node_modules|dist)\//.test(path)))
    .filter((path) => path.endsWith(".ts"))
    .sort();
}

function filesUnder(root: string, dir: string): string[] {
  try {
    return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

interface ImportSite {
  readonly specifier: string;
  readonly line: number;
}

/** Static, dynamic, type and re-exporting imports, `require` and `import("…")` types. */
function importsOf(file: string): ImportSite[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, false);
  const sites: ImportSite[] = [];
  const visit = (node: ts.Node): void => {
    const literal = specifierOf(node);
    if (literal !== undefined && ts.isStringLiteralLike(literal)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      sites.push({ specifier: literal.text, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return sites;
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  if (!ts.isCallExpression(node)) return undefined;
  const callee = node.expression;
  const imports = callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === "require");
  return imports ? node.arguments[0] : undefined;
}
