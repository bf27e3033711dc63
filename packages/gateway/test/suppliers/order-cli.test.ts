import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { addTenant, eventsOf, PRICE, payOrders, walletOf } from '../harness/shop.ts'

let shop: AdminTestbed

beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterAll(() => shop.close())

async function underReview(count: number) {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'REVIEWED', { count })
  await shop.db.query({
    text: `update order_items set item_status = 'REVIEW', supplier = 'smdp', product_code = 'X', requested_at = now(),
             in_doubt_at = now(), retry_at = now() + interval '1 hour' where tenant_id = $1`,
    values: [tenantId],
  })
  await shop.db.query({
    text: `update orders set order_status = 'UNDER_REVIEW', due_at = null where tenant_id = $1`,
    values: [tenantId],
  })
  return { tenantId, orderNo: orderNoOf(orderId!) }
}

describe('order settle', () => {
  /** The command for an order whose items are all under review. */
  const settle = (orderNo: string, ...rest: string[]) => ['order', 'settle', orderNo, ...rest]
  const WORD = ['--evidence', 'Ticket 4711, Ms Sato']

  it('--refused refunds once, records the evidence and notifies the dealer', async () => {
    const { tenantId, orderNo } = await underReview(2)
    expect(await adminJson(...settle(orderNo, '--refused', ...WORD))).toEqual({ orderNo, items: [1, 2] })
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2, refunded: 2n * PRICE })
    expect((await eventsOf(shop.db, tenantId)).at(-1)!.content).toMatchObject({
      orderStatus: 'FAILED',
      refundedAmount: 20_000,
    })
    expect((await shop.audited('order.settle')).at(-1)).toMatchObject({
      subject: orderNo,
      after: { orderStatus: 'FAILED', verdict: 'refused', items: [1, 2], evidence: 'Ticket 4711, Ms Sato' },
    })
    expect(await adminFailure(...settle(orderNo, '--refused', ...WORD))).toBe('No item of this order is under review.')
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2 })
  })

  it('--delivered assigns the eSIMs in a file to the items', async () => {
    const { tenantId, orderNo } = await underReview(2)
    const [first, second] = [makeIccid('8985888', 1), makeIccid('8985888', 2)]
    const rows = [`2,${second},LPA:1$a.example$TWO`, `1,${first},LPA:1$a.example$ONE`]
    const delivered = (text: string) => settle(orderNo, '--delivered', shop.file('esims.csv', text), ...WORD)
    expect(await adminFailure(...delivered(`itemNo,iccid,ac\n${rows[0]}\n`))).toMatch(
      /2 eSIMs are under review, but the file contains 1/,
    )
    expect(await adminFailure(...delivered(`itemNo,iccid,ac\n2,123,LPA:1$a.example$X\n`))).toBe(
      'row 2, iccid: This is not a valid ICCID: enter 18 to 20 digits. Found: “123”.',
    )
    await adminJson(...delivered(`itemNo,iccid,ac\n${rows.join('\n')}\n`))
    const shown = await adminJson('order', 'show', orderNo)
    expect(shown).toMatchObject({
      orderStatus: 'DELIVERED',
      itemList: [
        { itemNo: 1, iccid: first },
        { itemNo: 2, iccid: second },
      ],
    })
    expect(JSON.stringify(shown)).not.toContain('a.example')
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 0 })
  })

  it('--delivered makes the eSIM due for polling at the upstream, like any delivered eSIM', async () => {
    const config = { url: 'http://127.0.0.1:1', appKey: 'upstream_key', appSecret: 'secret' }
    await adminJson(
      'supplier',
      'add',
      'upstream',
      '--type',
      'gateway',
      '--config',
      shop.file('upstream.json', JSON.stringify(config)),
    )
    const { tenantId, orderNo } = await underReview(1)
    const ofIt = { text: `update order_items set supplier = 'upstream' where tenant_id = $1`, values: [tenantId] }
    await shop.db.query(ofIt)
    const esims = shop.file('esim.csv', `iccid,ac\n${makeIccid('8985888', 3)},LPA:1$a.example$THREE\n`)
    await adminJson(...settle(orderNo, '--delivered', esims, ...WORD))
    const due = { text: 'select poll_at is not null as due from profiles where tenant_id = $1', values: [tenantId] }
    expect(await shop.db.query(due)).toEqual([{ due: true }])
  })

  it('--retry queries the supplier again, and --items limits the verdict to the given items', async () => {
    const { tenantId, orderNo } = await underReview(3)
    await adminJson(...settle(orderNo, '--refused', '--items', '2', ...WORD))
    await adminJson(...settle(orderNo, '--retry', '--items', '1,3', ...WORD))
    const items = await shop.db.query<{ itemStatus: string }>({
      text: 'select item_status from order_items where tenant_id = $1 order by item_no',
      values: [tenantId],
    })
    expect(items.map((item) => item.itemStatus)).toEqual(['WAITING', 'REFUSED', 'WAITING'])
    const due = await shop.db.query({
      text: 'select from orders where tenant_id = $1 and due_at <= now()',
      values: [tenantId],
    })
    expect(due).toHaveLength(1)
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 1 })
  })

  it('resolves nothing without exactly one verdict, evidence and an order under review', async () => {
    const { tenantId, orderNo } = await underReview(1)
    const one = 'Use one of --delivered FILE, --topped-up, --refused and --retry.'
    expect(await adminUsageError(...settle(orderNo, ...WORD))).toBe(one)
    expect(await adminUsageError(...settle(orderNo, '--refused', '--retry', ...WORD))).toBe(one)
    for (const items of ['x', '1,', '1;2', '0', '1.5', '-1', '101', '1e0']) {
      expect(await adminUsageError(...settle(orderNo, '--refused', '--items', items, ...WORD))).toMatch(
        /^--items takes a whole/,
      )
    }
    expect(await adminFailure(...settle(orderNo, '--refused', '--evidence', '  '))).toMatch(/what the supplier said/)
    const tooLong = settle(orderNo, '--refused', '--evidence', 'x'.repeat(2_001))
    expect(await adminFailure(...tooLong)).toMatch(/^The evidence has 2001 characters; the limit is 2000/)
    expect(await adminFailure(...settle(orderNo, '--refused', '--items', '7', ...WORD))).toMatch(/Only items 1/)
    expect(await adminFailure(...settle('01ARZ3NDEKTSV4RRFFQ69G5FAV', '--refused', ...WORD))).toMatch(/no order/)
    expect((await admin(...settle(orderNo, '--refused'))).code).toBe(2)
    expect((await adminJson('order', 'review')).orderList.map((row: { orderNo: string }) => row.orderNo)).toContain(
      orderNo,
    )
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 0 })
  })
})

describe('unfinished orders', () => {
  it('are listed by status and age, page by page, oldest first', async () => {
    const tenantId = await addTenant(shop.db)
    const orders = (await payOrders(shop.db, tenantId, 'STUCK', { orders: 3 })).map(orderNoOf).sort()
    const list = async (...options: string[]): Promise<string[]> => {
      const { orderList } = await adminJson('order', 'list', ...options)
      return orderList.map((row: { orderNo: string }) => row.orderNo)
    }
    const ours = async (...options: string[]) => (await list(...options)).filter((no) => orders.includes(no))
    expect(await ours()).toEqual(orders)
    expect(await ours('--status', 'UNDER_REVIEW')).toEqual([])
    expect(await list('--older-than', '15m')).not.toContain(orders[0])
    expect(await list('--limit', '1', '--after', orders[0]!)).toEqual([orders[1]])
    const { stdout } = await admin('order', 'list', '--limit', '1', '--after', orders[0]!)
    expect(stdout).toMatch(new RegExp(`${orders[1]} +PAID .*${tenantId}[\\s\\S]*--after ${orders[1]}\n$`))
    expect((await admin('order', 'list', '--status', 'DELIVERED')).code).toBe(2)
  })

  it('are shown with their keys at the supplier', async () => {
    const { orderNo } = await underReview(2)
    const { orderList } = await adminJson('order', 'review')
    const keys = [`${orderNo}-1`, `${orderNo}-2`]
    expect(orderList).toContainEqual(expect.objectContaining({ orderNo, keys }))
    expect((await adminJson('order', 'show', orderNo)).itemList).toMatchObject(keys.map((key) => ({ key })))
    expect((await admin('order', 'review')).stdout).toContain(keys.join(' '))
    expect((await admin('order', 'show', orderNo)).stdout).toContain(keys[1])
  })
})

describe('order cancel', () => {
  it('refunds once for an order that was not sent to a supplier', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'ANY', { count: 2 })
    const orderNo = orderNoOf(orderId!)
    const cancel = ['order', 'cancel', orderNo, '--reason', 'ordered by mistake']
    for (const reason of ['', ' no ', 'x'.repeat(301), 'two\nlines']) {
      expect(await adminFailure(...cancel.with(-1, reason))).toMatch(
        /^The reason must be one line of 3 to 300 characters/,
      )
    }
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 0 })
    expect(await adminJson(...cancel)).toEqual({ orderNo, orderStatus: 'CANCELLED' })
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2, refunded: 2n * PRICE })
    expect((await eventsOf(shop.db, tenantId)).at(-1)!.content).toMatchObject({
      orderStatus: 'CANCELLED',
      refundedAmount: 20_000,
    })
    expect(await shop.audited('order.cancel')).toMatchObject([
      { subject: orderNo, after: { orderStatus: 'CANCELLED', reason: 'ordered by mistake', refundedItems: [1, 2] } },
    ])
    expect(await adminFailure(...cancel)).toBe(
      'The order is CANCELLED, and none of its eSIMs is waiting for a supplier.',
    )
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2 })
  })
})
