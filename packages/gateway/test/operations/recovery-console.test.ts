import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepRepeated } from '#orders/placing/restored-orders.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { importStock } from '#stock/import-stock.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { approveAdjustment, proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../http/console/console-testbed.ts'

/* A recovery from beginning to end on the console's page. */

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

const EVIDENCE = 'ticket 4711'

test('an administrator settles every doubt of a recovery on the console, and then releases without accepting any', async () => {
  const { db, deps } = testbed
  const tenantId = await addTenant(testbed, 'Dealer')
  await addSupplier(deps, { name: 'codes', type: 'stock', config: {} }, SYSTEM)
  await addSupplier(deps, { name: 'silent', type: 'sandbox', config: {} }, SYSTEM)
  await deps.suppliers.refresh()
  await db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, prepared_at)
           values (gen_random_uuid(), now() - interval '2 hours', now() - interval '1 hour', now())`,
  })
  const iccids = [1, 2].map((serial) => makeIccid('8986', serial))
  const rows = iccids.map((iccid, index) => `${iccid},LPA:1$smdp.example.com$I${index}`)
  const file = Readable.from([`iccid,ac\n${rows.join('\n')}\n`])
  const { batchId } = await importStock(deps, { supplier: 'codes', productCode: 'P', file }, SYSTEM)
  await db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid) select 'silent', iccid, iccid from unnest($1::text[]) as iccid`,
    values: [iccids],
  })
  await db.tx(async (tx) =>
    keepRepeated(
      tx,
      ['A', 'B'].map((transactionId) => ({ tenant: { tenantId }, request: { transactionId } })),
    ),
  )
  const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  const post = async (path: string, body: object) => {
    expect((await staff.call('POST', path, body)).body.code).toBe('NOT_ALLOWED')
    const { status, body: answer } = await admin.call('POST', path, body)
    expect({ status, answer }).toMatchObject({ status: 200 })
    return answer
  }
  const csv = `iccid\n${iccids[0]}\n`
  expect(await post('/recovery/list', { tenantId, csv: 'transactionId,orderNo,amount\nC,,4.50\n' })).toEqual({
    ...{ orders: 1, known: 0 },
    unknown: [{ row: 2, transactionId: 'C', match: 'DEALER_ALONE', detail: null }],
  })
  await post('/recovery/decide', { tenantId, transactionIds: ['A'], state: 'SOLD', evidence: EVIDENCE })
  await post('/recovery/decide', { tenantId, state: 'NOT_SOLD', evidence: EVIDENCE })
  await post('/recovery/stock', { supplier: 'codes', batchId, sold: 'ICCIDS', csv, evidence: EVIDENCE })
  await post('/recovery/stock', { supplier: 'codes', batchId, sold: 'REST_UNSOLD', evidence: EVIDENCE })
  for (const supplier of ['silent', 'sandbox'])
    await post('/recovery/settle', { supplier, part: 'PERIOD', evidence: EVIDENCE })
  await post('/recovery/settle', { supplier: 'silent', part: 'ICCIDS', csv, evidence: EVIDENCE })
  await post('/recovery/settle', { supplier: 'silent', part: 'ALL_ESIMS', evidence: EVIDENCE })
  const refused = { supplier: 'silent', part: 'ICCIDS', csv: 'sim\n1\n', evidence: EVIDENCE }
  expect((await admin.call('POST', '/recovery/settle', refused)).body.code).toBe('CSV_INVALID')
  await post('/recovery/credits', { evidence: EVIDENCE })
  const owed = (await admin.call('GET', '/recovery')).body
  expect(owed).toMatchObject({ debits: [{ transactionId: 'A', state: 'NOT_DEBITED' }] })
  const { adjustmentId } = await proposeAdjustment(
    deps,
    { tenantId, amount: -45_000n, reference: owed.debits[0].reference, reason: 'sold before the restore' },
    SYSTEM,
  )
  await approveAdjustment(deps, tenantId, adjustmentId, { ...SYSTEM, actor: 'cli:another' })
  const { body } = await admin.call('GET', '/recovery')
  expect(body).toMatchObject({
    doubts: [],
    batches: [],
    recovery: { creditsEvidence: EVIDENCE },
    transactions: [
      { transactionId: 'A', state: 'SOLD' },
      { transactionId: 'B', state: 'NOT_SOLD' },
      { transactionId: 'C', state: 'NOT_SOLD' },
    ],
  })
  const attention = async () => (await admin.call('GET', '/dashboard')).body.attention.recoveries
  expect(await attention()).toBe(1)
  await post('/recovery/release', {})
  expect(await attention()).toBe(0)
  expect((await admin.call('GET', '/recovery')).body).toMatchObject({ recovery: null, accepted: [] })
})
