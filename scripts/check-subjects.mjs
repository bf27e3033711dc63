// Checks subjects of commits: `area: imperative`. With --message FILE: the message of the commit that is being made. With
// --subject TEXT: this subject. With a range, such as main..HEAD: those of its commits.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The nouns of ARCHITECTURE.md, the other folders of the gateway, the packages, and what is no code of the product. */
const AREAS = new Set(
  [
    'tenants wallet catalogue prices products suppliers stock orders esims webhooks sales people alerts brands cells operations',
    'http cli fulfilment platform home',
    'contract sdk sdks console lib wholesalers simulators embedded-postgres gateway',
    'docs test ci bench',
  ].flatMap((line) => line.split(' ')),
)
const LENGTH_MAX = 100

/** @param {string} subject @returns {string | undefined} what is wrong with it, and what to write */
function subjectFault(subject) {
  const [, area, text = ''] = /^([a-z-]+): (.+)$/.exec(subject) ?? []
  if (area === undefined) return 'write "area: imperative", such as "stock: refuse codes that a spreadsheet has cut"'
  if (!AREAS.has(area)) return `there is no area "${area}": use one of ${[...AREAS].join(', ')}`
  if (/^[A-Z]/.test(text) && !/^[A-Z]{2}/.test(text)) return 'begin with a small letter after the area'
  if (/^\w+(?:ed|ing)\b/.test(text) && !/^(?:embed|feed|need|seed|shed|speed|bring|ping|ring|string)\b/.test(text))
    return 'use the imperative: "add", not "added" or "adding"'
  if (text.endsWith('.')) return 'leave out the full stop'
  return subject.length > LENGTH_MAX ? `use at most ${LENGTH_MAX} characters` : undefined
}

/** @param {string} message @returns {string | undefined} git writes some subjects itself */
function messageFault(message) {
  const [subject = ''] = message.split('\n')
  return /^(Merge|Revert|fixup!|squash!) /.test(subject) ? undefined : subjectFault(subject)
}

/** @param {string} range @returns {string[]} the faults of its commits */
function rangeFaults(range) {
  const log = execFileSync('git', ['log', '--no-merges', '--format=%h %s', range], { encoding: 'utf8' })
  return log
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => {
      const fault = subjectFault(line.slice(line.indexOf(' ') + 1))
      return fault === undefined ? [] : [`${line}: ${fault}`]
    })
}

const [option = 'main..HEAD', argument = ''] = process.argv.slice(2)
const fault =
  option === '--subject'
    ? subjectFault(argument)
    : option === '--message'
      ? messageFault(readFileSync(argument, 'utf8'))
      : rangeFaults(option).join('\n')
if (fault) {
  process.stderr.write(`The subject of the commit: ${fault}\n`)
  process.exit(1)
}
