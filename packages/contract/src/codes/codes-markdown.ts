import { type Code, codes } from './codes.ts'

/** docs/codes.md: the code table as a page, each code with its remedy. */
export function codesMarkdown(): string {
  const entries = Object.entries(codes).sort(([left], [right]) => (left < right ? -1 : 1)) as [Code, Row][]
  const table = entries.map(([code, { http, name }]) => `| [${code}](#${code}) | ${http} | ${name} |`)
  return `${[INTRODUCTION, '', '| code | HTTP | name |', '|---|---|---|', ...table, ...entries.map(section)].join('\n')}\n`
}

type Row = (typeof codes)[Code]

const INTRODUCTION = `# Codes

Every answer carries a code; \`000000\` is success. Programs should act on the code; the \`message\` is for people and says
what to do next. On failure \`data\` has \`requestId\`, \`details\` (a list of \`{field, reason}\`) and the members listed
below. If a request has two faults, the answer reports the one that is checked first.

A 5xx means that the outcome is unknown or that nothing happened: repeat the call with a new RequestID, and an order with
the same transactionId ([Idempotency and retries](idempotency.md)). Handle an unknown code according to its HTTP status.

\`npm run codes\` generates this page from the table in the code.`

function section([code, row]: [Code, Row]): string {
  const members = Object.keys(row.data.properties).map((name) => `\`data.${name}\``)
  const headers = row.headers.map((name) => `\`${name}\``)
  const extras = [...members, ...headers]
  const lines = ['', `## ${code}`, '', `**${row.name}**, HTTP ${row.http}. ${row.message}`, '', row.remedy]
  if (extras.length > 0) lines.push('', `Carries ${extras.join(', ')}.`)
  return lines.join('\n')
}
