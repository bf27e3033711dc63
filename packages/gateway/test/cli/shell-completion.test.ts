import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from '@dealer-esim/sdk/test/command.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../harness/can-run.ts'
import { admin } from '../harness/processes/admin-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-completion-'))
const fileOf = (name: string, shell: string) => join(folder, `${name}.${shell}`)
beforeAll(async () => {
  for (const shell of ['bash', 'zsh']) {
    writeFileSync(fileOf('dealer-esim-admin', shell), (await admin(['completion', shell], {})).stdout)
    writeFileSync(fileOf('dealer-esim', shell), (await command(['completion', shell])).out)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!canRun('completion in bash', 'bash'))('bash completes', () => {
  test.each([
    ['dealer-esim-admin ten', ['tenant']],
    ['dealer-esim-admin tenant --j', ['--json']],
    ['dealer-esim-admin --json price plan sh', ['show']],
    ['dealer-esim-admin setup --smtp', ['--smtp-url']],
    ['dealer-esim-admin tenant create --cur', ['--currency']],
    ['dealer-esim-admin tenant list --vers', []],
    ['dealer-esim web', ['webhook']],
    ['dealer-esim webhook set --usage', ['--usage-thresholds']],
    ['dealer-esim order JP_1_7 --transaction-id T-1 --w', ['--wait']],
    ['dealer-esim order JP_1_7 --time', ['--timeout']],
  ])('%s', (line, expected) => {
    const [name = '', ...words] = line.split(' ')
    expect(run('bash', ['--norc', '-c', IN_BASH, 'bash', fileOf(name, 'bash'), name, ...words])).toEqual(expected)
  })
})

/** Calls the function that the script registers, as bash does. */
const IN_BASH = `
  eval "$(cat "$1")"; shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  registered=$(complete -p "$1")
  [[ $registered =~ ' -F '([^ ]+) ]] && { "\${BASH_REMATCH[1]}"; printf '%s\\n' "\${COMPREPLY[@]}"; }`

describe.skipIf(!canRun('completion in zsh', 'zsh'))('zsh completes', () => {
  test.each([
    ['dealer-esim-admin', 'ten cre --cur', 'tenant create --currency'],
    ['dealer-esim', 'web sho --h', 'webhook show --help'],
  ])('%s, whether or not compinit was loaded before', (name, words, expected) => {
    for (const before of [':', 'autoload -Uz compinit && compinit -u']) {
      expect(
        run('zsh', ['-f', '-c', IN_ZSH, 'zsh', fileOf(name, 'zsh'), name, words.replaceAll(/ |$/g, '\t'), before]),
      ).toEqual([expected])
    }
  })
})

/** Types into an interactive zsh and prints the arguments of the completed line. */
const IN_ZSH = `
  zmodload zsh/zpty
  zpty shell zsh -f -i
  for line in 'PROMPT="RE""ADY> "' "$4" 'eval "$(cat '$1')"' "$2"'() { print "AR""GS<$*>" }'; do
    zpty -w shell $line
    zpty -r shell seen '*READY> '
  done
  zpty -n -w shell "$2 $3"$'\\n'
  zpty -r shell seen '*ARGS<*>*'
  print -r -- \${\${seen##*ARGS<}%%>*}`

/** @returns the lines that it printed. Ends a shell that waits for an answer. */
function run(shell: string, args: string[]): string[] {
  const env = { PATH: process.env.PATH, HOME: folder, TERM: 'dumb' }
  const printed = execFileSync(shell, args, { env, encoding: 'utf8', timeout: 60_000 })
  return printed.split('\n').filter((line) => line !== '')
}
