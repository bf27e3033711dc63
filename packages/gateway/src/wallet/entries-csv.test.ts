import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import type { StatementEntry } from './entries.ts'
import { entriesCsv } from './entries-csv.ts'

const entry: StatementEntry = {
  walletVersion: 7n,
  createdAt: new Date('2026-11-20T13:28:09.000Z'),
  kind: 'ADJUSTMENT',
  amount: -125_000n,
  balanceAfter: -5n,
  orderNo: null,
  transactionId: null,
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
  ))
    text += part
  return text
}

test('amounts are decimals that stay numbers, also below zero', async () => {
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
  ])
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＠x'])('%s in a text column is no formula', async (text) => {
  const rows = parse(await csvOf([{ ...entry, reference: text, reason: text }]), { columns: true }) as Record<
    string,
    string
  >[]
  expect(rows[0]).toMatchObject({ reference: `'${text}`, reason: `'${text}`, amount: '-12.50' })
})

test('the header stands once, whatever the number of pages', async () => {
  const text = await csvOf([entry, entry], [], [entry])
  expect(text.split('\n').filter((line) => line.startsWith('version,'))).toHaveLength(1)
  expect(parse(text, { columns: true })).toHaveLength(3)
})
