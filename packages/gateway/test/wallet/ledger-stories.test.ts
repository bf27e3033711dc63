import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { approveAdjustment, proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { ALICE, BOB, createWalletTestbed, insertPaidOrder, refundLocked } from '../harness/wallets.ts'

/** UPDATE=1 writes the statements' results into the page. */
const PAGE = join(import.meta.dirname, '../../../../contributing/ledger.md')

let wallets: Awaited<ReturnType<typeof createWalletTestbed>>
let client: pg.Client
beforeAll(async () => {
  wallets = await createWalletTestbed()
  client = new pg.Client({ connectionString: wallets.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await wallets.close()
})

test('the stories in contributing/ledger.md end as described there', async () => {
  const { tenantId } = await wallets.tenant()
  let orderId = ''
  const stories: Record<string, () => Promise<unknown>> = {
    'A top-up': () => topUp(wallets.deps, { tenantId, amount: 100_000_000n, reference: 'INV-1' }, ALICE),
    'An order': async () => {
      orderId = await insertPaidOrder(wallets.db, tenantId, [45_000n, 45_000n])
    },
    'A refund': () => wallets.db.tx((tx) => refundLocked(tx, tenantId, orderId, [{ itemNo: 2, amount: 45_000n }])),
    'An adjustment': async () => {
      const input = { tenantId, amount: -5_000n, reference: 'CASE-1', reason: 'credited twice' }
      const { adjustmentId } = await proposeAdjustment(wallets.deps, input, ALICE)
      await approveAdjustment(wallets.deps, tenantId, adjustmentId, BOB)
    },
    'In the end': async () => {},
  }
  const page = readFileSync(PAGE, 'utf8')
  let written = page
  for (const [, title = '', statement = '', answer = ''] of page.matchAll(
    /## ([^\n]+)\n[^#]*?```sql\n([^`]+)```\n\n```text\n([^`]*)```/g,
  )) {
    await stories[title]!()
    const seen = asTable(await client.query({ text: statement, rowMode: 'array' }))
    if (process.env.UPDATE === '1')
      written = written.replace(
        `${statement}\`\`\`\n\n\`\`\`text\n${answer}`,
        `${statement}\`\`\`\n\n\`\`\`text\n${seen}`,
      )
    else expect(answer, title).toBe(seen)
    delete stories[title]
  }
  expect(Object.keys(stories)).toEqual([])
  if (written !== page) writeFileSync(PAGE, written)
})

/** As printed by psql, with text left-aligned and numbers right-aligned. */
function asTable({ fields, rows }: pg.QueryArrayResult<unknown[]>): string {
  const texts = rows.map((row) => row.map((value) => (value === null ? '' : String(value))))
  const names = fields.map(({ name }) => name)
  const widths = names.map((name, place) => Math.max(name.length, ...texts.map((row) => row[place]!.length)))
  const isNumber = names.map((_, place) => texts.every((row) => /^-?\d*$/.test(row[place]!)))
  const line = (row: readonly string[]) =>
    ` ${row.map((text, place) => (isNumber[place] ? text.padStart(widths[place]!) : text.padEnd(widths[place]!))).join(' | ')}`.trimEnd()
  return `${[line(names), widths.map((width) => '-'.repeat(width + 2)).join('+'), ...texts.map(line)].join('\n')}\n`
}
