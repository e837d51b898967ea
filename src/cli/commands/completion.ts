import { EXIT, UsageError, type Command } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print a script for completion in a shell.',
  operands: { usage: SHELLS.join('|'), min: 1, max: 1, names: SHELLS },
  options: {},
  details:
    'Completes names of accounts, policies, plans, incidents and flow-control keys from the daemon; without a daemon only ' +
    'commands and options. For one user, ~/.bashrc or ~/.zshrc has: source <(opsd completion bash)',
  examples: ['opsd completion bash > /etc/bash_completion.d/opsd', 'opsd completion fish | source'],
  run({ io, positionals }) {
    const shell = SHELLS.find((name) => name === positionals[0]);
    if (shell === undefined)
      throw new UsageError(`the shell must be one of ${SHELLS.join(', ')}, not '${positionals[0]}'`);
    io.stdout.write(SCRIPTS[shell]);
    return Promise.resolve(EXIT.ok);
  },
};

/** The scripts call the program as the user typed it. Without a candidate, the shell completes files. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `_opsd() {
  local line="\${COMP_LINE:0:COMP_POINT}" words current head
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  current="\${words[\${#words[@]}-1]}"
  local IFS=$'\\n'
  COMPREPLY=($("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null </dev/null))
  # bash replaces only what follows the last : or =
  head="\${current%"\${current##*[:=]}"}"
  if ((\${#COMPREPLY[@]} > 0)); then COMPREPLY=("\${COMPREPLY[@]#"$head"}"); fi
}
complete -o default -F _opsd opsd
`,
  zsh: `#compdef opsd
_opsd() {
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  if [[ -n "\${found[1]}" ]]; then
    compadd -- "\${found[@]}"
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" = _opsd ]]; then
  _opsd "$@"
else
  compdef _opsd opsd
fi
`,
  fish: `function __opsd_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null </dev/null
end
complete -c opsd -n 'count (__opsd_complete) >/dev/null' -f -a '(__opsd_complete)'
`,
};
