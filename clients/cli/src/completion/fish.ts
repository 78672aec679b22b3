import { allCommands, type CommandSpec, type OptionSpec, OWNER_PREFIXES, type ValueSpec } from "./spec.js";

/** For fish 3 or newer. */
export function fishCompletion(program: CommandSpec): string {
  const commands = allCommands(program);
  const valued = new Set(commands.flatMap(({ options }) => options.flatMap((o) => (o.value ? o.flags : []))));
  return `# fish completion for reverie; made by \`reverie completion fish\`
function __reverie_at --description 'The command line has these words, and behind them COUNT more (any: -1)'
    set -l words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word ${[...valued].join(" ")}
            set skip 1
        else if not string match -q -- '-*' $word
            set -a words $word
        end
    end
    set -l count $argv[1]
    set -l wanted $argv[2..-1]
    set -l have (count $words)
    set -l need (count $wanted)
    test $have -ge $need; or return 1
    test $need -eq 0; or test "$words[1..$need]" = "$wanted"; or return 1
    test $count -lt 0; or test (math $have - $need) -eq $count
end

complete -c reverie -f
${commands.flatMap(lines).join("\n")}
`;
}

function lines({ path, commands, options, args, variadic }: CommandSpec): string[] {
  const at = (count: number) => `-n ${quote(["__reverie_at", count, ...path].join(" "))}`;
  const own = commands.map(
    (sub) => `complete -c reverie ${at(0)} -a ${quote(sub.path.at(-1) as string)} -d ${quote(sub.summary)}`,
  );
  const values = args.flatMap((arg, index) => {
    const offered = valueText(arg);
    if (offered === "") return [];
    const count = variadic && index === args.length - 1 ? -1 : index;
    return [`complete -c reverie ${at(count)} ${offered}`];
  });
  return [...own, ...options.map((option) => `complete -c reverie ${at(-1)} ${optionOf(option)}`), ...values];
}

function optionOf({ flags, description, value }: OptionSpec): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(" ");
  return `${names}${value === undefined ? "" : ` ${value.type === "file" ? "-r" : "-x"} ${valueText(value)}`} -d ${quote(description)}`.replace(
    / +/g,
    " ",
  );
}

function valueText(value: ValueSpec): string {
  switch (value.type) {
    case "choices":
      return `-a ${quote(value.choices.join(" "))}`;
    case "owner":
      return `-a ${quote(OWNER_PREFIXES.join(" "))}`;
    case "file":
      return "-F";
    case "directory":
      return "-a '(__fish_complete_directories)'";
    default:
      return "";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
