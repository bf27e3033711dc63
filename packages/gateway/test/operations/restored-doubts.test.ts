import { makeIccid, orderNoOf, type TopupRequest } from '@dealer-esim/contract'
import type { Outcome, Supplier, SupplierRecord, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { askAboutWatched } from '#fulfilment/reconciliation/ask-watched.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { prepareRecovery } from '#operations/recovery/prepare-recovery.ts'
import { keepRepeated } from '#orders/placing/restored-orders.ts'
import { findUnnamedKey } from '#orders/unanswered-topup.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { adminFailure, adminJson, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { createScriptedSupplier, deliver, withSuppliers } from '../harness/scripted-supplier.ts'
import { addPackage, addSupplier, addTenant, payOrders, statuses, waitUntil } from '../harness/shop.ts'

/* What a recovery is in doubt about, and how an operator settles it. */

let shop: AdminTestbed
let tenantId: string

beforeAll(async () => {
  shop = await createAdminTestbed()
  tenantId = await addTenant(shop.db)
  await addSupplier(shop, 'silent', 'sandbox')
  await addPackage(shop.db, 'SOLD', [{ supplier: 'sandbox', productCode: 'X' }])
})
afterEach(async () => {
  await shop.db.query({
    text: 'truncate restores, recovered_tenants, restored_transactions, restored_lists, settled_suppliers, unclaimed_esims',
  })
})
afterAll(() => shop.close())

async function restore(): Promise<void> {
  await shop.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at)
           values (gen_random_uuid(), now() - interval '50 hours', now() - interval '10 minutes')`,
  })
}

const found = (supplier: string, ...iccids: string[]) =>
  shop.db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid) select $1, 'K-' || iccid, iccid from unnest($2::text[]) as iccid`,
    values: [supplier, iccids],
  })

const doubts = async () => ((await adminJson('recovery', 'show')).doubts as string[]).join('\n')

test('what is known of a supplier, its eSIMs and credits is settled with evidence, and no longer in doubt', async () => {
  await restore()
  await shop.db.query({ text: 'update restores set prepared_at = now()' })
  const iccids = [1, 2, 3].map((serial) => makeIccid('8986', serial))
  await found('sandbox', ...iccids)
  expect(await doubts()).toMatch(/silent has not been compared.*3 eSIMs that suppliers list.*Credits and adjustments/s)
  const because = ['--evidence', 'invoice 7'] as const
  const file = (...rows: string[]) => shop.file('esims.csv', `iccid\n${rows.join('\n')}\n`)
  expect(await adminFailure('recovery', 'settle', 'nobody', '--period', ...because)).toMatch(/There is no supplier/)
  const other = file(iccids[0]!, makeIccid('8999', 1))
  expect(await adminFailure('recovery', 'settle', 'sandbox', '--esims', other, ...because)).toMatch(
    /does not list these ICCIDs without an order: 8999/,
  )
  expect(await doubts()).toMatch(/3 eSIMs that suppliers list/)
  await adminJson('recovery', 'settle', 'sandbox', '--esims', file(iccids[0]!), ...because)
  expect(await doubts()).toMatch(/2 eSIMs that suppliers list/)
  expect(await adminJson('recovery', 'settle', 'sandbox', '--all-esims', ...because)).toMatchObject({ esims: 2 })
  for (const supplier of ['sandbox', 'silent']) await adminJson('recovery', 'settle', supplier, '--period', ...because)
  await adminJson('recovery', 'credits', ...because)
  expect(await doubts()).toMatch(/^These dealers have sent no list of their orders: [^\n]*$/)
  const { theirs, suppliers } = await adminJson('recovery', 'show')
  expect(theirs.map(({ evidence }: { evidence: string }) => evidence)).toEqual(Array(3).fill('invoice 7'))
  expect(suppliers).toMatchObject([{ evidence: 'invoice 7' }, { evidence: 'invoice 7' }])
  expect(await shop.audited('recovery.settle')).toHaveLength(4)
  await found('silent', makeIccid('8986', 9))
  expect(await doubts()).toMatch(/1 eSIMs that suppliers list/)
})

test('what settles one restore leaves the next one in doubt', async () => {
  await restore()
  await adminJson('recovery', 'settle', 'silent', '--period', '--evidence', 'its records')
  await adminJson('recovery', 'credits', '--evidence', 'the bank statement')
  expect(await doubts()).not.toMatch(/silent|Credits/)
  await restore()
  expect(await doubts()).toMatch(/silent.*Credits/s)
})

test('doubts that were accepted are printed at the release, and shown afterwards', async () => {
  await restore()
  await shop.db.query({ text: 'update restores set prepared_at = now()' })
  const other = await addTenant(shop.db)
  const some = await adminJson('recovery', 'release', tenantId, '--accept-doubt', 'it bought nothing')
  expect(some.accepted.join()).toMatch(/silent has not been compared/)
  await adminJson('recovery', 'release', '--all', '--accept-doubt', 'the bank confirms')
  const { accepted } = await adminJson('recovery', 'show')
  expect(accepted).toMatchObject([
    { tenantIds: null, because: 'the bank confirms' },
    { tenantIds: [tenantId], because: 'it bought nothing' },
  ])
  expect(accepted[0].doubts.join()).toMatch(/silent has not been compared/)
  await shop.db.query({ text: 'delete from wallets where tenant_id = $1', values: [other] })
})

test('transactionIds are decided from a file, or all that are in doubt', async () => {
  await restore()
  const repeat = (...ids: string[]) =>
    shop.db.tx(async (tx) =>
      keepRepeated(
        tx,
        ids.map((transactionId) => ({ tenant: { tenantId }, request: { transactionId } })),
      ),
    )
  await repeat('A', 'B', 'C', 'D')
  const decide = (...options: string[]) =>
    ['recovery', 'decide', tenantId, ...options, '--evidence', 'by the dealer'] as const
  const file = shop.file('ids.csv', 'transactionId\nA\nB\n')
  expect(await adminJson(...decide('--file', file, '--sold'))).toMatchObject({ transactionIds: ['A', 'B'] })
  expect(await adminUsageError(...decide('--file', file, '--all', '--sold'))).toMatch(/Give either transactionIds/)
  expect(await adminJson(...decide('--all', '--not-sold'))).toMatchObject({ transactionIds: ['C', 'D'] })
})

test('an eSIM that arrives for an order that was open at the backup and settled as refused becomes an orphan', async () => {
  const dealer = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, dealer, 'SOLD')
  await restore()
  await shop.db.query({ text: 'update restores set restored_at = now()' })
  await prepareRecovery(shop)
  await adminJson('order', 'settle', orderNoOf(orderId!), '--refused', '--evidence', 'the supplier has no order')
  const { deps } = createScriptedSupplier(shop, { name: 'sandbox', query: async (asked) => asked.map(deliver) })
  await shop.db.query({ text: 'update restores set recovering = false' })
  await shop.db.query({ text: `update watched_items set due_at = now() where tenant_id = $1`, values: [dealer] })
  expect(await askAboutWatched(deps)).toBe(1)
  expect(
    await shop.db.query({ text: 'select supplier, state from orphans where tenant_id = $1', values: [dealer] }),
  ).toEqual([{ supplier: 'sandbox', state: 'FOUND' }])
})

/** An order of a package of two suppliers that was open at the backup, and settled as refused after the restore. */
async function refuseRestored(packageCode: string): Promise<{ dealer: string; orderId: string }> {
  const routes = ['sandbox', 'silent'].map((supplier) => ({ supplier, productCode: `X-${supplier}` }))
  await addPackage(shop.db, packageCode, routes)
  const dealer = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, dealer, packageCode)
  await restore()
  await shop.db.query({ text: 'update restores set restored_at = now()' })
  await prepareRecovery(shop)
  const { openOrders } = await adminJson('recovery', 'show')
  expect(openOrders).toMatchObject([{ orderNo: orderNoOf(orderId!), suppliers: ['sandbox', 'silent'] }])
  await adminJson('order', 'settle', orderNoOf(orderId!), '--refused', '--evidence', 'sandbox has no order')
  await shop.db.query({ text: 'update restores set recovering = false' })
  return { dealer, orderId: orderId! }
}

const watchedOf = (dealer: string) =>
  shop.db.query({ text: 'select supplier, other_suppliers from watched_items where tenant_id = $1', values: [dealer] })
const orphansOf = (dealer: string) =>
  shop.db.query({
    text: 'select supplier, state from orphans where tenant_id = $1 order by supplier',
    values: [dealer],
  })

test('an order settled as refused is watched at every supplier of its package, and each that delivers is an orphan', async () => {
  const { dealer } = await refuseRestored('TWO_ROUTES')
  expect(await watchedOf(dealer)).toEqual([{ supplier: 'sandbox', otherSuppliers: { silent: 'X-silent' } }])
  const asked: [string, string][] = []
  const answers = new Set(['silent'])
  const suppliers = ['sandbox', 'silent'].map((name) => {
    const query: Supplier['query'] = async (requests) => {
      asked.push(...requests.map(({ productCode }): [string, string] => [name, productCode]))
      return requests.map(() => (answers.has(name) ? deliver() : { kind: 'retry', message: 'not known' }))
    }
    return createScriptedSupplier(shop, { name, query }).supplied
  })
  const ask = async () => {
    await shop.db.query({ text: 'update watched_items set due_at = now() where tenant_id = $1', values: [dealer] })
    await askAboutWatched(withSuppliers(shop, ...suppliers))
  }
  await ask()
  expect(asked.sort()).toEqual([
    ['sandbox', 'X-sandbox'],
    ['silent', 'X-silent'],
  ])
  expect(await orphansOf(dealer)).toEqual([{ supplier: 'silent', state: 'FOUND' }])
  expect(await watchedOf(dealer)).toEqual([{ supplier: 'sandbox', otherSuppliers: {} }])
  answers.add('sandbox')
  await ask()
  expect(await orphansOf(dealer)).toMatchObject([{ supplier: 'sandbox' }, { supplier: 'silent' }])
  expect(await watchedOf(dealer)).toEqual([])
})

test('a sale that the list of the second supplier shows later is an orphan of the order that was settled as refused', async () => {
  const { dealer, orderId } = await refuseRestored('LISTED_LATER')
  const outcome = deliver() as Extract<Outcome, { kind: 'delivered' }>
  async function* list(): AsyncGenerator<SupplierRecord> {
    yield { key: `${orderNoOf(orderId)}-1`, iccid: outcome.esim.iccid, cancelled: false, time: new Date() }
  }
  const { supplied, deps } = createScriptedSupplier(shop, {
    name: 'silent',
    list,
    query: async (requests) => requests.map(() => outcome),
  })
  expect(await compareSupplierList(deps, supplied, 0)).toBe(1)
  expect(await orphansOf(dealer)).toEqual([{ supplier: 'silent', state: 'FOUND' }])
  expect(await shop.db.query({ text: 'select from unclaimed_esims' })).toEqual([])
  expect(await compareSupplierList(deps, supplied, 0)).toBe(0)
})

test('each comparison of a recovery covers the time since the backup, so that it names every unreadable entry', async () => {
  const known = shop.suppliers.get('sandbox')!
  const at = Date.now() - 30 * 3_600_000
  async function* list(since: Date): AsyncGenerator<SupplierRecord | UnreadableEntry> {
    if (since.getTime() < at) yield { entry: 'order 7', reason: 'it has no ICCID' }
  }
  await restore()
  await shop.db.query({ text: `update restores set prepared_at = now() - interval '5 minutes'` })
  const compare = () => compareSupplierList(shop, { ...known, supplier: { ...known.supplier, list } }, 0)
  for (let comparison = 0; comparison < 2; comparison++) {
    await compare()
    expect(await doubts()).toMatch(/1 entries of the list of sandbox could not be read/)
  }
  await adminJson('recovery', 'settle', 'sandbox', '--period', '--evidence', 'order 7 was cancelled')
  expect(await doubts()).not.toMatch(/could not be read/)
})

test('a top-up without a transactionId that was sold before a restore does not stand in the way of the next one', async () => {
  const dealer = await addTenant(shop.db)
  await payOrders(shop.db, dealer, 'SOLD')
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, dealer)).DELIVERED === 1)
  await loop.stop(5_000)
  const [profile] = await shop.db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [dealer],
  })
  const request = { esimTranNo: profile!.profileId, packageCode: 'SOLD' } as TopupRequest
  const key = async () => (await findUnnamedKey(shop.db, { tenantId: dealer, keyId: null }, request, 'SOLD'))!
  await restore()
  const repeated = await key()
  await shop.db.tx(async (tx) =>
    keepRepeated(tx, [{ tenant: { tenantId: dealer }, request: { transactionId: repeated } }]),
  )
  // Not by its name: one key of 64 begins with `-`, as an option does.
  const decided = await adminJson('recovery', 'decide', dealer, '--all', '--sold', '--evidence', 'the supplier has it')
  expect(decided).toMatchObject({ transactionIds: [repeated] })
  expect(await key()).toBe(repeated) // the program may still be repeating it
  await shop.db.query({
    text: `update restored_transactions set seen_at = now() - interval '2 hours', decided_at = now() - interval '2 hours'`,
  })
  const next = await key()
  expect(next).not.toBe(repeated)
  expect(await key()).toBe(next)
})

test('codes that are imported in recovery are held until an operator says which were sold', async () => {
  await adminJson('supplier', 'add', 'shelf', '--type', 'stock')
  await restore()
  const iccids = [11, 12].map((serial) => makeIccid('8986', serial))
  const rows = iccids.map((iccid, index) => `${iccid},LPA:1$smdp.example.com$I${index}`)
  const file = shop.file('codes.csv', `iccid,ac\n${rows.join('\n')}\n`)
  const { batchId } = await adminJson('stock', 'import', file, '--supplier', 'shelf', '--product', 'P')
  const states = () => shop.db.query({ text: `select state from stock_codes where supplier = 'shelf' order by iccid` })
  const batch = () =>
    shop.db.query({ text: 'select available, expired from stock_batches where batch_id = $1', values: [batchId] })
  expect(await states()).toEqual([{ state: 'EXPIRED' }, { state: 'EXPIRED' }])
  expect(await batch()).toMatchObject([{ available: 0n, expired: 2n }])
  expect((await adminJson('recovery', 'show')).batches).toMatchObject([{ batchId, held: 2 }])
  const [shown] = (await adminJson('stock', 'find', iccids[0]!)).codes
  expect(shown).toMatchObject({ iccid: iccids[0], state: 'HELD' })
  const sold = shop.file('sold.csv', `iccid\n${iccids[0]}\n`)
  await adminJson(
    'recovery',
    'stock',
    'shelf',
    batchId,
    '--sold',
    sold,
    '--rest-unsold',
    '--evidence',
    'the dealer has it',
  )
  expect(await states()).toEqual([{ state: 'RESERVED' }, { state: 'FREE' }])
  expect(await batch()).toMatchObject([{ available: 1n, expired: 0n }])
})
