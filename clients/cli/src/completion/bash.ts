import { allCommands, type CommandSpec, OWNER_PREFIXES, type ValueSpec } from "./spec.js";

/** For `complete`, without bash-completion; bash 4 or newer. */
export function bashCompletion(program: CommandSpec): string {
  return `# bash completion for reverie; made by \`reverie completion bash\`
_reverie_spec() {
  # Of the command "$1": its commands, options, those that take a value, and its arguments.
  case "$1" in
${allCommands(program).map(specCase).join("\n")}
    *) return 1 ;;
  esac
}

_reverie_value() {
  # What the option "$2" of the command "$1" takes.
  case "$1:$2" in
${valueCases(program).join("\n")}
    *) value=text ;;
  esac
}

_reverie_reply() {
  # Offers what "$1" says: text, owner, file, directory or a list of choices; what was typed is "$2".
  case "$1" in
    text) ;;
    owner)
      COMPREPLY=($(compgen -W "${OWNER_PREFIXES.join(" ")}" -- "$2"))
      compopt -o nospace 2>/dev/null
      ;;
    file)
      local IFS=$'\\n'
      COMPREPLY=($(compgen -f -- "$2"))
      compopt -o filenames 2>/dev/null
      ;;
    directory)
      local IFS=$'\\n'
      COMPREPLY=($(compgen -d -- "$2"))
      compopt -o filenames 2>/dev/null
      ;;
    *) COMPREPLY=($(compgen -W "$1" -- "$2")) ;;
  esac
}

_reverie() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" commands options valued args variadic value word next
  local -i at position=0 rest=0
  COMPREPLY=()
  _reverie_spec ""
  # bash splits --kind=x into three words.
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    if ((rest)); then
      position+=1
    elif [[ $word == -- ]]; then
      rest=1
    elif [[ $word == -* ]]; then
      [[ " $valued " == *" $word "* ]] || continue
      next="\${COMP_WORDS[at + 1]}"
      [[ $next == "=" ]] && at+=1
      at+=1
      if ((at >= COMP_CWORD)); then
        [[ $cur == "=" ]] && cur=""
        _reverie_value "$path" "$word"
        _reverie_reply "$value" "$cur"
        return
      fi
    elif [[ " $commands " == *" $word "* ]]; then
      path="\${path:+$path }$word"
      _reverie_spec "$path"
    else
      position+=1
    fi
  done
  if [[ $cur == -* ]] && ! ((rest)); then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    ((position >= \${#args[@]} && variadic)) && position=$((\${#args[@]} - 1))
    [[ -n \${args[position]} ]] && _reverie_reply "\${args[position]}" "$cur"
  fi
}

complete -F _reverie reverie
`;
}

function specCase({ path, commands, options, args, variadic }: CommandSpec): string {
  const names = commands.map((sub) => sub.path.at(-1)).join(" ");
  const flags = options.flatMap((option) => option.flags).join(" ");
  const valued = options.flatMap((option) => (option.value ? option.flags : [])).join(" ");
  return [
    `    "${path.join(" ")}")`,
    `      commands="${names}"`,
    `      options="${flags}"`,
    `      valued="${valued}"`,
    `      args=(${args.map((arg) => `"${valueText(arg)}"`).join(" ")}) variadic=${variadic ? 1 : 0}`,
    "      ;;",
  ].join("\n");
}

function valueCases(program: CommandSpec): string[] {
  return allCommands(program).flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) => {
      if (value === undefined || value.type === "text") return [];
      const patterns = flags.map((flag) => `"${path.join(" ")}:${flag}"`).join(" | ");
      return [`    ${patterns}) value="${valueText(value)}" ;;`];
    }),
  );
}

function valueText(value: ValueSpec): string {
  return value.type === "choices" ? value.choices.join(" ") : value.type;
}
