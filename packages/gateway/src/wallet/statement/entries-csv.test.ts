import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { entriesCsv, statementFileName } from './entries-csv.ts'
import type { StatementEntry } from './statement-entries.ts'

const entry: StatementEntry = {
  walletVersion: 7n,
  createdAt: new Date('2026-11-20T13:28:09.000Z'),
  kind: 'ADJUSTMENT',
  amount: -125_000n,
  balanceAfter: -5n,
  orderNo: null,
  orderEntryNo: null,
  keyLabel: null,
  transactionId: null,
  toppedUpProfileId: null,
  itemNo: null,
  reference: 'R-1',
  reason: 'plain',
  actor: 'cli:root',
}

async function csvOf(...pages: StatementEntry[][]): Promise<string> {
  let text = ''
  for await (const part of entriesCsv(
    (async function* () {
      yield* pages
    })(),
    'EUR',
  ))
    text += part
  return text
}

test('amounts are written as decimal numbers, even below zero', async () => {
  const [, row] = parse(await csvOf([entry])) as string[][]
  expect(row).toEqual([
    '7',
    '2026-11-20T13:28:09.000Z',
    'ADJUSTMENT',
    '-12.50',
    '-0.0005',
    '',
    '',
    '',
    'R-1',
    'plain',
    'cli:root',
    'EUR',
    '',
  ])
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＠x'])(
  '%s in a text column is not exported as a formula',
  async (text) => {
    const rows = parse(await csvOf([{ ...entry, reference: text, reason: text }]), { columns: true }) as Record<
      string,
      string
    >[]
    expect(rows[0]).toMatchObject({ reference: `'${text}`, reason: `'${text}`, amount: '-12.50' })
  },
)

test('the header is written only once, however many pages follow', async () => {
  const text = await csvOf([entry, entry], [], [entry])
  expect(text.split('\n').filter((line) => line.startsWith('version,'))).toHaveLength(1)
  expect(parse(text, { columns: true })).toHaveLength(3)
})

test('new columns are added last, so that older columns keep their positions', async () => {
  const [header = []] = parse(await csvOf([entry])) as string[][]
  expect(header.slice(0, 3)).toEqual(['version', 'time', 'kind'])
  expect(header.slice(-3)).toEqual(['actor', 'currency_code', 'order_entry_no'])
})

test.each([
  ['Acme Travel', undefined, 'statement-acme-travel-2026-11.csv'],
  ['Müller & Söhne "GmbH"', 'TOP_UP', 'statement-muller-sohne-gmbh-2026-11-top_up.csv'],
  ['株式会社', undefined, 'statement-01a1fd8b-dc30-7373-b571-a5a73161e676-2026-11.csv'],
  ['../\r\n; filename=x', undefined, 'statement-filename-x-2026-11.csv'],
] as const)('the file name for %s contains the tenant and the month', (clientName, kind, name) => {
  const statement = { tenantId: '01a1fd8b-dc30-7373-b571-a5a73161e676', clientName, month: '2026-11' }
  expect(statementFileName(statement, kind)).toBe(name)
})
