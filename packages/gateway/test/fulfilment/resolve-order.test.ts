import { PassThrough, Readable } from 'node:stream'
import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { acceptEsim, saveOutcomes } from '#fulfilment/outcomes/save-outcomes.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { importStock } from '#stock/import-stock.ts'
import type { CsvEsim } from '#stock/stock-csv.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { openShop } from '../harness/open-shop.ts'
import { addPackage, addSupplier, addTenant, payOrders, type Shop, statuses, waitUntil } from '../harness/shop.ts'

/* Resolving with an operator's eSIMs: each eSIM belongs to exactly one item. */

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  for (const name of ['shelf', 'drawer']) await addSupplier(shop, name, 'stock')
  await addPackage(shop.db, 'P', [{ supplier: 'sandbox', productCode: 'X' }])
})
afterAll(() => shop.close())

/** An order whose eSIMs are all under review. */
async function underReview(count: number) {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'P', { count })
  await setItems(tenantId, `item_status = 'REVIEW', supplier = 'sandbox', product_code = 'X'`)
  await shop.db.query({
    text: `update orders set order_status = 'UNDER_REVIEW', due_at = null where tenant_id = $1`,
    values: [tenantId],
  })
  return { tenantId, orderId: orderId! }
}
type Order = Awaited<ReturnType<typeof underReview>>

const setItems = (tenantId: string, columns: string) =>
  shop.db.query({ text: `update order_items set ${columns} where tenant_id = $1`, values: [tenantId] })

const iccidOf = (n: number) => makeIccid('8985889', n)
const esimOf = (n: number, matchingId: string): CsvEsim['esim'] => ({
  ...{ iccid: iccidOf(n), smdpAddress: 'a.example', matchingId },
  ac: `LPA:1$a.example$${matchingId}`,
})
const delivered = (order: Order, ...esims: CsvEsim['esim'][]) =>
  resolveOrder(
    shop,
    {
      ...order,
      verdict: { kind: 'delivered', esims: esims.map((esim, index) => ({ row: index + 2, esim })) },
      evidence: 'Ticket 4711, Ms Sato',
    },
    { actor: 'cli:test' },
  )

/** Imports a stock file with one code for each eSIM. */
function importFile(supplier: string, ...esims: CsvEsim['esim'][]) {
  const file = Readable.from(['iccid,ac', ...esims.map(({ iccid, ac }) => `\n${iccid},${ac}`)])
  return importStock(shop, { supplier, productCode: 'P', file }, { actor: 'cli:test' })
}

it('an eSIM repeated in the file is refused, whether by its ICCID or by its activation code', async () => {
  const order = await underReview(2)
  await expect(delivered(order, esimOf(1, 'ONE'), esimOf(1, 'TWO'))).rejects.toThrow(
    /^Row 3: the ICCID .* appears in the file twice/,
  )
  await expect(delivered(order, esimOf(1, 'ONE'), esimOf(2, 'ONE'))).rejects.toThrow(
    /^Row 3: the activation code .* appears in the file twice/,
  )
  expect(await statuses(shop.db, order.tenantId)).toEqual({ UNDER_REVIEW: 1 })
})

it('an eSIM that belongs to another dealer is refused until that eSIM has ended', async () => {
  const [order, other] = [await underReview(1), await underReview(1)]
  await delivered(other, esimOf(3, 'THREE'))
  const refusal = `Row 2: eSIM ${iccidOf(3)} is already delivered with order ${orderNoOf(other.orderId)}.`
  await expect(delivered(order, esimOf(3, 'NEW'))).rejects.toThrow(refusal)
  await shop.db.query({
    text: `update profiles set esim_status = 'USED_EXPIRED' where tenant_id = $1`,
    values: [other.tenantId],
  })
  expect(await delivered(order, esimOf(3, 'NEW'))).toEqual([1])
})

it('an eSIM in two concurrent files is delivered from only one of them', async () => {
  const orders = [await underReview(1), await underReview(1)]
  const outcomes = await Promise.allSettled(orders.map((order) => delivered(order, esimOf(4, 'FOUR'))))
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

it('an eSIM that is kept as an orphan is refused', async () => {
  const [order, late] = [await underReview(1), await underReview(1)]
  await setItems(late.tenantId, `item_status = 'REFUSED'`)
  const esim = esimOf(5, 'FIVE')
  await acceptEsim(shop, late.tenantId, { orderId: late.orderId, itemNo: 1, supplier: 'sandbox' }, esim)
  const refusal = `Row 2: eSIM ${esim.iccid} is kept as an orphan of order ${orderNoOf(late.orderId)}.`
  await expect(delivered(order, esim)).rejects.toThrow(refusal)
})

it('a code delivered with another ICCID is refused until the supplier has cancelled that eSIM', async () => {
  const [order, other] = [await underReview(1), await underReview(1)]
  await delivered(other, esimOf(8, 'EIGHT'))
  const again = () => delivered(order, esimOf(9, 'EIGHT'))
  await expect(again()).rejects.toThrow(
    `Row 2: eSIM ${iccidOf(9)} is already delivered with order ${orderNoOf(other.orderId)}.`,
  )
  await shop.db.query({
    text: `update profiles set esim_status = 'CANCEL' where tenant_id = $1`,
    values: [other.tenantId],
  })
  expect(await again()).toEqual([1])
})

it('an eSIM for sale in stock is refused, whether by its ICCID or by its activation code', async () => {
  const order = await underReview(1)
  await importFile('shelf', esimOf(6, 'SIX'))
  for (const esim of [esimOf(6, 'OTHER'), esimOf(7, 'SIX')]) {
    await expect(delivered(order, esim)).rejects.toThrow(`Row 2: eSIM ${esim.iccid} is for sale in stock of shelf.`)
  }
})

it('an eSIM reserved in stock is refused for any order other than its own', async () => {
  await importFile('drawer', esimOf(10, 'TEN'))
  const [order, other] = [await underReview(1), await underReview(1)]
  const request = { ...order, itemNo: 1, key: itemKeyOf(order.orderId, 1), productCode: 'P' }
  expect(await shop.suppliers.get('drawer')!.supplier.order([request])).toMatchObject([{ kind: 'delivered' }])
  await expect(delivered(other, esimOf(10, 'TEN'))).rejects.toThrow(
    `Row 2: eSIM ${iccidOf(10)} is reserved in stock of drawer for another order.`,
  )
  expect(await delivered(order, esimOf(10, 'TEN'))).toEqual([1])
})

it('a stock file with the code of a recorded eSIM is refused, but a different code is accepted', async () => {
  const order = await underReview(1)
  await delivered(order, esimOf(11, 'ELEVEN'))
  await expect(importFile('shelf', esimOf(12, 'TWELVE'), esimOf(13, 'ELEVEN'))).rejects.toThrow(
    `row 3, iccid: This code was already delivered, with order ${orderNoOf(order.orderId)}`,
  )
  expect(await importFile('shelf', esimOf(11, 'ELEVEN-AGAIN'))).toMatchObject({ codes: 1 })
})

it('a stock file is refused at the end of its import if one of its codes was recorded meanwhile', async () => {
  const order = await underReview(1)
  const file = new PassThrough()
  const importing = importStock(shop, { supplier: 'shelf', productCode: 'P', file }, { actor: 'cli:test' })
  const refused = expect(importing).rejects.toThrow(
    `eSIM ${iccidOf(14)} has since been delivered with order ${orderNoOf(order.orderId)}. Remove it from the file.`,
  )
  const first = Array.from({ length: 1_000 }, (_, n) => `${iccidOf(10_000 + n)},LPA:1$a.example$LONG-${n}\n`)
  file.write(`iccid,ac\n${iccidOf(14)},LPA:1$a.example$FOURTEEN\n${first.join('')}`)
  await waitUntil(async () => {
    const written = await shop.db.query({
      text: `select from pg_locks where relation = 'stock_codes'::regclass and mode = 'RowExclusiveLock'`,
    })
    return written.length > 0
  })
  await delivered(order, esimOf(14, 'FOURTEEN'))
  file.end()
  await refused
})

it('a stock file with an orphan eSIM is refused until the orphan is returned', async () => {
  const late = await underReview(1)
  await setItems(late.tenantId, `item_status = 'REFUSED'`)
  const esim = esimOf(15, 'FIFTEEN')
  await acceptEsim(shop, late.tenantId, { orderId: late.orderId, itemNo: 1, supplier: 'sandbox' }, esim)
  await expect(importFile('shelf', esim)).rejects.toThrow(
    `row 2, iccid: This eSIM is an orphan of order ${orderNoOf(late.orderId)}`,
  )
  await shop.db.query({ text: `update orphans set state = 'CANCELLED' where tenant_id = $1`, values: [late.tenantId] })
  expect(await importFile('shelf', esim)).toMatchObject({ codes: 1 })
})

it('an eSIM reserved in stock for another item in the order is refused', async () => {
  await importFile('drawer', esimOf(16, 'SIXTEEN'))
  const order = await underReview(2)
  const request = { ...order, itemNo: 2, key: itemKeyOf(order.orderId, 2), productCode: 'P' }
  expect(await shop.suppliers.get('drawer')!.supplier.order([request])).toMatchObject([{ kind: 'delivered' }])
  const resolving = (itemNo: number) =>
    resolveOrder(
      shop,
      {
        ...order,
        itemNos: [itemNo],
        verdict: { kind: 'delivered', esims: [{ row: 2, esim: esimOf(16, 'SIXTEEN') }] },
        evidence: 'Ticket 4711, Ms Sato',
      },
      { actor: 'cli:test' },
    )
  await expect(resolving(1)).rejects.toThrow(
    `Row 2: eSIM ${iccidOf(16)} is reserved in stock of drawer for another item of this order.`,
  )
  expect(await resolving(2)).toEqual([2])
})

/* An eSIM that was recorded by an operator, and that the supplier then delivers for another item. */

const holdersOf = async (n: number) => {
  const rows = await shop.db.query<{ orderId: string }>({
    text: 'select order_id from profiles where iccid = $1 union all select order_id from orphans where iccid = $1',
    values: [iccidOf(n)],
  })
  return rows.map((row) => row.orderId)
}
const arrive = ({ tenantId, orderId }: Order, esim: CsvEsim['esim']) =>
  acceptEsim(shop, tenantId, { orderId, itemNo: 1, supplier: 'sandbox' }, esim)

it.each([
  ['UNKNOWN', 20],
  ['REVIEW', 21],
  ['REFUSED', 22],
])(
  'an eSIM recorded for another order is neither delivered nor kept as an orphan if the item is %s',
  async (status, n) => {
    const [order, other] = [await underReview(1), await underReview(1)]
    await setItems(other.tenantId, `item_status = '${status}'`)
    await delivered(order, esimOf(n, `CODE-${n}`))
    await arrive(other, esimOf(n, `CODE-${n}`))
    await arrive(other, esimOf(n, `OTHER-${n}`)) // with the same ICCID
    await arrive(other, esimOf(100 + n, `CODE-${n}`)) // the code with a different ICCID
    expect([...(await holdersOf(n)), ...(await holdersOf(100 + n))]).toEqual([order.orderId])
    await arrive(order, esimOf(n, `CODE-${n}`)) // for the order itself
    expect(await holdersOf(n)).toEqual([order.orderId])
  },
)

it('an attempt that delivers another order’s eSIM leaves its item in doubt and names that order', async () => {
  const [order, other] = [await underReview(1), await underReview(1)]
  await delivered(order, esimOf(40, 'FORTY'))
  await setItems(other.tenantId, `item_status = 'ASKED', requested_at = now()`)
  const attempt = {
    ...{ attemptId: shop.ids.uuid(), orderId: other.orderId, itemNo: 1, key: itemKeyOf(other.orderId, 1) },
    ...{ supplied: shop.suppliers.get('drawer')!, productCode: 'X', operation: 'ORDER' as const },
    ...{ startedAt: new Date(), requestedAt: new Date(), doubtSince: null },
  }
  const outcome = { kind: 'delivered' as const, esim: esimOf(40, 'FORTY') }
  await saveOutcomes(shop, other.tenantId, { leaseToken: undefined }, [
    { orderId: other.orderId, itemNo: 1, attempt, outcome },
  ])
  const [item] = await shop.db.query<{ itemStatus: string; failureReason: string }>({
    text: 'select item_status, failure_reason from order_items where tenant_id = $1',
    values: [other.tenantId],
  })
  expect(item!.itemStatus).toBe('UNKNOWN')
  expect(item!.failureReason).toContain(`which an operator recorded for an item of order ${orderNoOf(order.orderId)}`)
  expect(await holdersOf(40)).toEqual([order.orderId])
})

it.each([
  ['delivery', 50],
  ['resolution', 51],
])(
  'when an eSIM is delivered and resolved concurrently, the later action sees the earlier one: the %s',
  async (first, n) => {
    const [order, other] = [await underReview(1), await underReview(1)]
    const resolve = () => delivered(order, esimOf(n, `CODE-${n}`))
    const deliver = () => arrive(other, esimOf(n, `CODE-${n}`))
    // The first one waits for a row that another transaction has locked; then the second one starts.
    const { tenantId } = first === 'delivery' ? other : order
    let free = () => {}
    let holding: Promise<void> | undefined
    await new Promise<void>((locked) => {
      holding = shop.db.tx(async (tx) => {
        await tx.query({ text: 'select from orders where tenant_id = $1 for no key update', values: [tenantId] })
        locked()
        await new Promise<void>((resolve) => {
          free = resolve
        })
      })
    })
    const one = first === 'delivery' ? deliver() : resolve()
    await waitForBlockedStatements(shop.db, 1)
    const two = first === 'delivery' ? resolve() : deliver()
    const both = Promise.allSettled([one, two])
    await Promise.race([waitForBlockedStatements(shop.db, 2), two.catch(() => {})])
    free()
    await holding
    const [, second] = await both
    expect(await holdersOf(n)).toEqual([first === 'delivery' ? other.orderId : order.orderId])
    expect(second.status).toBe(first === 'delivery' ? 'rejected' : 'fulfilled')
  },
)
