import type { Command } from 'commander'

export const COMPLETION_SHELLS = ['bash', 'zsh'] as const

/**
 * A script that completes a program's commands and options. It contains them all, so completing starts no process:
 * `dealer-esim-admin ten<Tab>` → `dealer-esim-admin tenant`.
 */
export function completionScript(name: string, program: Command, shell: (typeof COMPLETION_SHELLS)[number]): string {
  const id = `_${name.replaceAll('-', '_')}`
  const words = pathsOf(program).map(([path, list]) => `    '${path}') words='${list.join(' ')}' ;;`)
  const intro = shell === 'zsh' ? 'autoload -Uz bashcompinit && bashcompinit\n' : ''
  return `${intro}${id}_words() {
  local words=
  case "$1" in
${words.join('\n')}
  esac
  printf '%s' "$words"
}
${id}() {
  local path= at word
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case " $(${id}_words "$path") " in *" $word "*) [[ $word == -* ]] || path="\${path:+$path }$word" ;; esac
  done
  COMPREPLY=($(compgen -W "$(${id}_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F ${id} ${name}
`
}

/** What can follow each command: its commands, or its options. */
function pathsOf(program: Command, path = ''): [path: string, words: string[]][] {
  const commands = program.commands.map((command) => command.name())
  const options = program.options.flatMap(({ long }) => (long ? [long] : []))
  const below = program.commands.flatMap((command) => pathsOf(command, `${path} ${command.name()}`.trim()))
  return [[path, [...commands, ...options, '--help']], ...below]
}
