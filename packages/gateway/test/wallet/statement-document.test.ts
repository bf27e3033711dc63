import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import jsQR from 'jsqr'
import encodeQR from 'qr'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { closeMonth, getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { findDue, issueDueStatements } from '#wallet/statement/issue-loop.ts'
import { getIssuedStatement, issueStatement } from '#wallet/statement/issue-statement.ts'
import { setOperatorDetails } from '#wallet/statement/operator-details.ts'
import { getMonthStatement } from '#wallet/statement/statement-month.ts'
import { ALICE, createWalletTestbed, insertPaidOrder, refuseItems } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

const OPERATOR = { legalName: 'Operator & Sons Ltd', taxId: 'GB 1', address: '1 Main Street\nLondon' }

const monthAgo = (months: number) => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months)).toISOString().slice(0, 7)
}
const LAST = monthAgo(1)
const issue = (tenantId: string, month = LAST) => issueStatement(money.deps, tenantId, month, ALICE)

/** A dealer with movements in the last month. */
async function dealerOfLastMonth() {
  await setOperatorDetails(money.deps, OPERATOR, ALICE)
  const { tenantId } = await money.tenant()
  await topUp(money.deps, { tenantId, amount: 12_500_000n, reference: 'INV-1' }, ALICE)
  const orderId = await insertPaidOrder(money.db, tenantId, [45_000n, 45_000n])
  await refuseItems(money.db, tenantId, orderId, [{ itemNo: 2, amount: 45_000n }])
  const then = new Date(`${LAST}-15T12:00:00Z`)
  await money.db.query(sql`update tenants set created_at = ${then} where tenant_id = ${tenantId}`)
  await money.db.query(sql`update transfers set created_at = ${then} where tenant_id = ${tenantId}`)
  await money.db.query(sql`update wallets set updated_at = ${then} where tenant_id = ${tenantId}`)
  return tenantId
}

test('a statement shows both parties, the movements by kind and the closing balance in the ledger', async () => {
  const tenantId = await dealerOfLastMonth()
  await changeSettings(
    money.deps,
    tenantId,
    { legalName: 'Acme <b>GmbH', taxId: 'DE1', billingAddress: 'Ring 1\nWien' },
    ALICE,
  )
  const { document, statementNo } = await issue(tenantId)
  const { closing } = await getMonthStatement(money.db, tenantId, LAST)
  expect(closing).toBe(12_455_000n)
  for (const text of [
    'Operator &amp; Sons Ltd',
    '1 Main Street<br>London',
    'Acme &lt;b&gt;GmbH',
    'Ring 1<br>Wien',
    'Tax ID: DE1',
  ])
    expect(document).toContain(text)
  expect(document).toContain('not a tax invoice')
  expect(statementNo).toMatch(new RegExp(`^[0-9A-Z]{10}-${LAST}$`))
  expect(document).toContain(statementNo)
  const cells = [...document.matchAll(/<td class="amount">([^<]*)</g)].map(([, text]) => text)
  expect(cells).toEqual(['0.00', '1', '1250.00', '1', '-9.00', '1', '4.50', '1245.50'])
})

test('an issued statement stays byte-for-byte the same, whatever changes', async () => {
  const tenantId = await dealerOfLastMonth()
  const first = await issue(tenantId)
  await setOperatorDetails(money.deps, { legalName: 'New Name', taxId: null, address: null }, ALICE)
  await changeSettings(money.deps, tenantId, { clientName: 'Renamed', legalName: 'Renamed Ltd' }, ALICE)
  await topUp(money.deps, { tenantId, amount: 1n, reference: 'LATER' }, ALICE)
  const second = await issue(tenantId)
  expect(Buffer.from(second.document).equals(Buffer.from(first.document))).toBe(true)
  expect(second).toEqual({ ...first, isNew: false })
})

test('concurrent first calls issue one statement', async () => {
  const tenantId = await dealerOfLastMonth()
  const issued = await Promise.all(Array.from({ length: 10 }, () => issue(tenantId)))
  expect(new Set(issued.map(({ document }) => document)).size).toBe(1)
  const entries = await money.db.query(sql`
    select from audit_log where tenant_id = ${tenantId} and action = 'statement.issue'`)
  expect(entries).toHaveLength(1)
})

test('a movement after the statement was issued belongs to a later month, even if the clock is set back', async () => {
  const tenantId = await dealerOfLastMonth()
  await issue(tenantId)
  const before = await getMonthStatement(money.db, tenantId, LAST)
  const [wallet] = await money.db.query<{ updatedAt: Date }>(sql`
    select updated_at from wallets where tenant_id = ${tenantId}`)
  // Each movement is dated at or after this, whatever the clock says.
  expect(wallet!.updatedAt.toISOString().slice(0, 7) > LAST).toBe(true)
  await topUp(money.deps, { tenantId, amount: 7n, reference: 'LATE' }, ALICE)
  expect(await getMonthStatement(money.db, tenantId, LAST)).toEqual(before)
  const now = await getMonthStatement(money.db, tenantId, monthAgo(0))
  expect([now.opening, now.closing]).toEqual([before.closing, before.closing + 7n])
})

test.each([
  ['the current month', monthAgo(0)],
  ['a month to come', monthAgo(-1)],
  ['a month before the account', monthAgo(3)],
])('no statement is issued for %s', async (_, month) => {
  const tenantId = await dealerOfLastMonth()
  const refused = await issue(tenantId, month).catch((error) => error)
  expect(refused).toMatchObject({ code: 'STATEMENT_NOT_ISSUED' })
  await expect(getIssuedStatement(money.db, tenantId, month)).rejects.toMatchObject({ message: refused.message })
})

test('no statement is issued before the operator has entered its legal name', async () => {
  const tenantId = await dealerOfLastMonth()
  await setOperatorDetails(money.deps, { legalName: null, taxId: null, address: null }, ALICE)
  const withoutName = { message: expect.stringContaining('legal name') }
  await expect(issue(tenantId)).rejects.toMatchObject(withoutName)
  await expect(getIssuedStatement(money.db, tenantId, LAST)).rejects.toMatchObject(withoutName)
})

describe('the checkpoint of a month', () => {
  const books = () => ({ ...money.deps, links: { publicUrl: 'https://esim.example.com' } })

  test('is on the statement, as text and as a QR code', async () => {
    const tenantId = await dealerOfLastMonth()
    await growTree(money.db, tenantId)
    await closeMonth(books(), tenantId, LAST, 3)
    const { note } = await getCheckpoint(books(), tenantId, { treeSize: 3 })
    const { document } = await issue(tenantId)
    expect(document).toContain(`<pre>${note}</pre>`)
    expect(document).toContain(encodeQR(note, 'svg', { ecc: 'low', border: 4 }))
    const modules = encodeQR(note, 'raw', { ecc: 'low', border: 4 }).map((row) =>
      row.flatMap((dark) => [dark, dark, dark]),
    )
    const rows = modules.flatMap((row) => [row, row, row])
    const pixels = Uint8ClampedArray.from(rows.flat().flatMap((dark) => (dark ? [0, 0, 0, 255] : [255, 255, 255, 255])))
    expect(Buffer.from(jsQR(pixels, rows.length, rows.length)!.binaryData).toString()).toBe(note)
  })

  test('is absent if no checkpoint has exactly these entries', async () => {
    const tenantId = await dealerOfLastMonth()
    await growTree(money.db, tenantId)
    await getCheckpoint(books(), tenantId, { treeSize: 2 })
    const { document } = await issue(tenantId)
    expect(document).not.toContain('<pre>')
    expect(document).not.toContain('<svg')
  })

  test('is waited for during an hour after the month', async () => {
    const tenantId = await dealerOfLastMonth()
    const due = async () => (await findDue(money.db, undefined, 0)).filter((found) => found.tenantId === tenantId)
    expect(await due()).toEqual([{ month: LAST, tenantId, isCheckpointDue: false }])
    const [wait] = await money.db.query<{ hours: number }>(sql`
      select ceil(extract(epoch from clock_timestamp() - date_trunc('month', clock_timestamp(), 'UTC')) / 3600)::int as hours`)
    const soon = (hours: number) =>
      findDue(money.db, undefined, hours * 3_600_000).then((all) => all.find((found) => found.tenantId === tenantId))
    expect(await soon(wait!.hours)).toMatchObject({ isCheckpointDue: true })
    await growTree(money.db, tenantId)
    await closeMonth(books(), tenantId, LAST, 3)
    expect(await soon(wait!.hours)).toMatchObject({ isCheckpointDue: false })
    const { tenantId: idle } = await money.tenant()
    await money.db.query(
      sql`update tenants set created_at = ${new Date(`${LAST}-15T12:00:00Z`)} where tenant_id = ${idle}`,
    )
    const found = (await findDue(money.db, undefined, wait!.hours * 3_600_000)).find((due) => due.tenantId === idle)
    expect(found).toMatchObject({ isCheckpointDue: false })
  })
})

describe('the statement loop', () => {
  const issueDue = () => issueDueStatements({ ...money.deps, log: silentLog, checkpointWaitMs: 0 })
  const ofTenant = (tenantId: string) =>
    money.db.query<{ month: string; document: string }>(sql`
      select month, document from issued_statements where tenant_id = ${tenantId} order by month`)
  const audited = async (tenantId: string) =>
    (
      await money.db.query<{ subject: string; actor: string }>(sql`
        select subject, actor from audit_log where tenant_id = ${tenantId} and action = 'statement.issue' order by subject`)
    ).map(({ subject, actor }) => `${subject.slice(-7)} ${actor}`)

  test('issues one statement for each account and past month, even with two nodes at the same time', async () => {
    const old = await dealerOfLastMonth()
    const then = new Date(`${monthAgo(3)}-15T12:00:00Z`)
    await money.db.query(sql`update tenants set created_at = ${then} where tenant_id = ${old}`)
    const more = await Promise.all([dealerOfLastMonth(), dealerOfLastMonth()])
    const { tenantId: current } = await money.tenant()
    const [first, second] = await Promise.all([issueDue(), issueDue()])
    expect([first.isComplete, second.isComplete]).toEqual([true, true])
    expect((await ofTenant(old)).map(({ month }) => month)).toEqual([monthAgo(3), monthAgo(2), LAST])
    expect(await audited(old)).toEqual([monthAgo(3), monthAgo(2), LAST].map((month) => `${month} system`))
    for (const tenantId of more) expect(await audited(tenantId)).toEqual([`${LAST} system`])
    expect(await ofTenant(current)).toEqual([])
    expect(await issueDue()).toEqual({ issued: 0, isComplete: true })
  })

  test('changes no issued statement, and a failing statement does not delay the others', async () => {
    await issueDue()
    const [viewed, broken, other] = await Promise.all([dealerOfLastMonth(), dealerOfLastMonth(), dealerOfLastMonth()])
    const { document } = await issue(viewed)
    await money.db.query(sql`delete from transfers where tenant_id = ${broken} and wallet_version = 2`)
    await setOperatorDetails(money.deps, { ...OPERATOR, legalName: 'New Name' }, ALICE)
    expect(await issueDue()).toEqual({ issued: 1, isComplete: false })
    expect(await ofTenant(viewed)).toEqual([{ month: LAST, document }])
    expect((await ofTenant(other))[0]!.document).toContain('New Name')
    expect(await ofTenant(broken)).toEqual([])
    await money.db.query(sql`update tenants set created_at = now() where tenant_id = ${broken}`)
  })

  test('waits for the operator’s legal name', async () => {
    const tenantId = await dealerOfLastMonth()
    await setOperatorDetails(money.deps, { legalName: null, taxId: null, address: null }, ALICE)
    expect(await issueDue()).toEqual({ issued: 0, isComplete: false })
    await setOperatorDetails(money.deps, OPERATOR, ALICE)
    expect(await issueDue()).toEqual({ issued: 1, isComplete: true })
    expect(await audited(tenantId)).toEqual([`${LAST} system`])
  })
})
