import type { Command } from 'commander'

export const COMPLETION_SHELLS = ['bash', 'zsh'] as const

/**
 * A script that completes a program's commands and options. It contains all of them, so completing does not start a
 * process: `dealer-esim-admin ten<Tab>` → `dealer-esim-admin tenant`.
 */
export function completionScript(name: string, program: Command, shell: (typeof COMPLETION_SHELLS)[number]): string {
  const id = `_${name.replaceAll('-', '_')}`
  const words = pathsOf(program).map(([path, list]) => `    '${path}') words='${list.join(' ')}' ;;`)
  const intro = shell === 'zsh' ? ZSH_INTRO : ''
  return `${intro}${id}_words() {
  local words=
  case "$1" in
${words.join('\n')}
  esac
  printf '%s' "$words"
}
${id}() {
  local called= at word
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case " $(${id}_words "$called") " in *" $word "*) [[ $word == -* ]] || called="\${called:+$called }$word" ;; esac
  done
  COMPREPLY=($(compgen -W "$(${id}_words "$called")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F ${id} ${name}
`
}

/**
 * zsh's `complete` needs compdef, which exists after compinit. -i asks nothing, and skips folders that others can write to.
 */
const ZSH_INTRO = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -Uz bashcompinit && bashcompinit
`

/** The possible words after each command: its commands, its options, and those of the commands above it, such as --json. */
function pathsOf(command: Command, path = '', above: readonly string[] = []): [path: string, words: string[]][] {
  const names = command.commands.map((each) => each.name())
  const options = [...command.options.flatMap(({ long }) => (long ? [long] : [])), ...above]
  const inherited = options.filter((option) => option !== '--version')
  const below = command.commands.flatMap((each) => pathsOf(each, `${path} ${each.name()}`.trim(), inherited))
  return [[path, [...names, ...options, '--help']], ...below]
}
