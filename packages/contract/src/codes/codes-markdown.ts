import { type Code, codes } from './codes.ts'

/** docs/codes.md: the code table as a page, each code with its remedy. */
export function codesMarkdown(): string {
  return page(INTRODUCTION, '| code | HTTP | name |', ([code, row]) => section(code, row))
}

/** What each code says in another language: its message and its remedy. On the wire, messages are English. */
export type TranslatedCodes = Readonly<Record<string, { message: string; remedy: string }>>

/** docs/zh-Hans/codes.md: the same page in Chinese. @throws Error for a code without a text */
export function chineseCodesMarkdown(texts: TranslatedCodes): string {
  return page(INTRODUCTION_ZH, '| 错误码 | HTTP | 名称 |', ([code, row]) => {
    const text = texts[code]
    if (text === undefined) throw new Error(`docs/site/codes.zh-Hans.json has no text for ${code}`)
    const lines = [
      '',
      `## ${code}`,
      '',
      `**${row.name}**，HTTP ${row.http}。${row.message}`,
      '',
      text.message + text.remedy,
    ]
    const extras = extrasOf(row)
    if (extras.length > 0) lines.push('', `附带 ${extras.join('、')}。`)
    return lines.join('\n')
  })
}

function page(introduction: string, heading: string, sectionOf: (entry: [Code, Row]) => string): string {
  const entries = Object.entries(codes).sort(([left], [right]) => (left < right ? -1 : 1)) as [Code, Row][]
  const table = entries.map(([code, { http, name }]) => `| [${code}](#${code}) | ${http} | ${name} |`)
  return `${[introduction, '', heading, '|---|---|---|', ...table, ...entries.map(sectionOf)].join('\n')}\n`
}

type Row = (typeof codes)[Code]

const INTRODUCTION = `# Codes

Every answer carries a code; \`000000\` is success. Programs should act on the code; the \`message\` is for people and says
what to do next. On failure \`data\` has \`requestId\`, \`details\` (a list of \`{field, reason}\`) and the members listed
below. If a request has two faults, the answer reports the one that is checked first.

A 5xx means that the outcome is unknown or that nothing happened: repeat the call with a new RequestID, and an order with
the same transactionId ([Idempotency and retries](idempotency.md)). Handle an unknown code according to its HTTP status.

\`npm run codes\` generates this page from the table in the code.`

const INTRODUCTION_ZH = `# 错误码

每个响应都带有错误码，\`000000\` 表示成功。程序应根据错误码处理；\`message\` 供人阅读，说明下一步怎么做。失败时，\`data\` 包含 \`requestId\`、\`details\`（由 \`{field, reason}\` 组成的列表）以及下文列出的字段。如果请求有两处错误，则返回先检查到的那一处。

5xx 表示结果未知，或未执行任何操作：请用新的 RequestID 重复调用；重复下单时使用相同的 transactionId（参见[幂等与重试](idempotency.md)）。遇到未知的错误码，请按其 HTTP 状态码处理。

本页由 \`npm run codes\` 根据代码中的错误码表生成。`

function section(code: Code, row: Row): string {
  const extras = extrasOf(row)
  const lines = ['', `## ${code}`, '', `**${row.name}**, HTTP ${row.http}. ${row.message}`, '', row.remedy]
  if (extras.length > 0) lines.push('', `Carries ${extras.join(', ')}.`)
  return lines.join('\n')
}

function extrasOf(row: Row): string[] {
  const members = Object.keys(row.data.properties).map((name) => `\`data.${name}\``)
  return [...members, ...row.headers.map((name) => `\`${name}\``)]
}
