import { type CommandSpec, type OptionSpec, OWNER_PREFIXES, type ValueSpec } from "./spec.js";

/** Works from a file `_reverie` in fpath, and with `source`. */
export function zshCompletion(program: CommandSpec): string {
  return `#compdef reverie
# zsh completion for reverie; made by \`reverie completion zsh\`

_reverie_owner() {
  compadd -S '' -- ${OWNER_PREFIXES.join(" ")}
}

${functions(program).join("\n\n")}

if [[ $funcstack[1] == _reverie ]]; then
  _reverie "$@"
else
  compdef _reverie reverie
fi
`;
}

function functions(command: CommandSpec): string[] {
  const { commands } = command;
  if (commands.length === 0) return [leaf(command)];
  const cases = commands.map((sub) => `        ${quote(sub.path.at(-1) as string)}) ${nameOf(sub)} ;;`);
  const names = commands.map(({ path, summary }) => `        ${quote(`${path.at(-1)}:${summary}`)}`);
  return [
    ...commands.flatMap(functions),
    `${nameOf(command)}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -S -s \\
${command.options.map(optionSpec).join("\n")}
    '1: :->command' '*:: :->args'
  case $state in
    command)
      local -a names=(
${names.join("\n")}
      )
      _describe -t commands command names
      ;;
    args)
      case $line[1] in
${cases.join("\n")}
      esac
      ;;
  esac
}`,
  ];
}

function leaf(command: CommandSpec): string {
  const { options, args, variadic } = command;
  const last = args.length - 1;
  const positions = args.map(
    (arg, at) => `    ${quote(`${variadic && at === last ? "*" : at + 1}:${action(arg)}`)} \\`,
  );
  return `${nameOf(command)}() {
  _arguments -S -s \\
${[...options.map(optionSpec), ...positions].join("\n").replace(/ \\$/, "")}
}`;
}

function nameOf({ path }: CommandSpec): string {
  return ["_reverie", ...path].join("_").replaceAll("-", "_");
}

function optionSpec({ flags, description, value }: OptionSpec): string {
  const text = `[${description.replace(/[[\]\\:]/g, "\\$&")}]${value === undefined ? "" : `:${action(value)}`}`;
  // Repeats are harmless, and --kind and --set want them.
  return flags.map((flag) => `    ${quote(`*${flag}${text}`)} \\`).join("\n");
}

function action(value: ValueSpec): string {
  switch (value.type) {
    case "choices":
      return ` :(${value.choices.join(" ")})`;
    case "owner":
      return "owner:_reverie_owner";
    case "file":
      return "file:_files";
    case "directory":
      return "directory:_files -/";
    default:
      return " : ";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
