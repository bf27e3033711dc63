import { randomInt, randomUUID } from 'node:crypto'
import { operations, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { type Answer, addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { seededRandom } from './seeded-random.ts'
import { createTopUpTestbed, type Esim, PRICE, type TopUpTestbed } from './topups/topup-testbed.ts'

let bed: TopUpTestbed
let esim: Esim
beforeAll(async () => {
  bed = await createTopUpTestbed()
  const one = (packageCode: string, productCode: string) =>
    packageInput({
      ...{ packageCode, status: 'ON_SALE', suppliers: [{ supplier: 'sandbox', productCode }] },
      prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
    })
  await putPackages(bed.node.deps, [one('JP_OFF', 'JP_OFF'), one('JP_GONE', 'SANDBOX_OUT_OF_STOCK')], OPERATOR)
  await setOnSale(bed.node.deps, { packageCodes: ['JP_OFF'] }, false, OPERATOR)
  esim = await bed.delivered()
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

interface Purchase {
  of: Dealer
  operation: 'esim/order' | 'esim/topup'
  body: object
}

const dryRun = ({ of, operation, body }: Purchase) => bed.json(of, operation, { ...body, validateOnly: true })
const real = ({ of, operation, body }: Purchase) => bed.json(of, operation, body)

/** An answer without the parts that differ in each call. */
function refusalOf({ status, code, message, data, headers }: Answer) {
  const { requestId: _, ...members } = data
  return { status, code, message, members, replayed: headers['idempotent-replayed'] }
}

/** What a dry run says of an order that is then placed. */
function expectForetold(foretold: Answer, placed: Answer) {
  const { amount, currencyCode, balanceAfter, esimTranNo, transactionId } = placed.data
  expect(foretold.code).toBe('000000')
  if (placed.headers['idempotent-replayed']) return expect(refusalOf(foretold)).toEqual(refusalOf(placed))
  const named = esimTranNo === undefined ? {} : { esimTranNo }
  expect(foretold.data).toMatchObject({ validateOnly: true, amount, currencyCode, balanceAfter, ...named })
  expect(foretold.data).not.toHaveProperty('orderNo')
  return transactionId
}

const order = (of: Dealer, members: object = {}): Purchase => ({
  ...{ of, operation: 'esim/order' },
  body: { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }], ...members },
})
const lines = (line: object) => ({ packageInfoList: [{ packageCode: 'JP_1_7', count: 1, ...line }] })
const topUp = (members: object = {}): Purchase => ({
  ...{ of: esim.dealer, operation: 'esim/topup' },
  body: { transactionId: randomUUID(), esimTranNo: esim.esimTranNo, packageCode: 'JP_1_7_TOPUP', ...members },
})

async function dealerWith(settings: Parameters<typeof changeSettings>[2], units?: number): Promise<Dealer> {
  const dealer = await addDealer(bed.node.deps, units)
  await changeSettings(bed.node.deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX, ...settings }, OPERATOR)
  return dealer
}

async function conflicting(purchase: Purchase, other: object): Promise<Purchase> {
  expect((await real(purchase)).code).toBe('000000')
  return { ...purchase, body: { ...purchase.body, ...other } }
}

/** A top-up of an eSIM in that state, of a dealer of its own. */
async function topUpIn(columns: string, members: object, settings: object = {}): Promise<Purchase> {
  const dealer = await addDealer(bed.node.deps, 1_000)
  const own = await bed.delivered('JP_1_7', dealer)
  if (columns) await bed.set(own, columns)
  await changeSettings(bed.node.deps, dealer.tenantId, settings, OPERATOR)
  return { ...topUp({ esimTranNo: own.esimTranNo, ...members }), of: dealer }
}

/** A purchase for each code that only the rules of the business decide. */
const ORDERS: Record<string, () => Promise<Purchase>> = {
  '000108': async () => order(bed.dealer, lines({ periodNum: 2 })),
  '000105': async () => order(bed.dealer, lines({ packageCode: 'JP_DAY' })),
  '200005': async () => order(bed.dealer, lines({ price: 1 })),
  '200006': async () => order(bed.dealer, { amount: 1 }),
  '200007': async () => order(await dealerWith({ creditLimit: 1n }, 2)),
  '200011': async () => order(bed.dealer, lines({ packageCode: 'JP_GONE' })),
  '200012': () => conflicting(order(bed.dealer), lines({ count: 2 })),
  '200014': async () => order(await dealerWith({ dailySpendLimit: 44_999n })),
  '200018': async () => order(bed.dealer, lines({ brand: 'nobody' })),
  '200019': async () => order(bed.dealer, lines({ deliverTo: { email: 'traveller@example.com' } })),
  '310241': async () => order(bed.dealer, lines({ packageCode: 'NOTHING' })),
  '310244': async () => order(bed.dealer, lines({ packageCode: 'JP_OFF' })),
}

const TOP_UPS: Record<string, () => Promise<Purchase>> = {
  '000108': async () => topUp({ periodNum: 2 }),
  '000105': async () =>
    topUp({ packageCode: 'JP_DAY_TOPUP', esimTranNo: (await bed.delivered('JP_DAY', bed.dealer, 2)).esimTranNo }),
  '200002': () => topUpIn(`esim_status = 'CANCEL'`, {}),
  '200005': async () => topUp({ price: 1 }),
  '200006': async () => topUp({ amount: 1 }),
  '200007': () => topUpIn('', { periodNum: undefined }, {}).then(emptied),
  '200011': async () => topUp({ packageCode: 'JP_GONE_TOPUP' }),
  '200012': () => conflicting(topUp(), { packageCode: 'FR_TOPUP' }),
  '200014': () => topUpIn('', {}, { dailySpendLimit: 50_000n }),
  '200015': async () => topUp(),
  '310241': async () => topUp({ packageCode: 'NOTHING' }),
  '310244': async () => topUp({ packageCode: 'JP_OLD_TOPUP' }),
  '310245': async () => topUp({ packageCode: 'FR_TOPUP' }),
  '310403': async () => topUp({ esimTranNo: randomUUID() }),
}

/** Spends the dealer's balance. */
async function emptied(purchase: Purchase): Promise<Purchase> {
  const { balance } = (await bed.json(purchase.of, 'account/balance', {})).data
  for (let left = Math.floor(balance / PRICE); left > 0; left -= 30) {
    const bought = order(purchase.of, lines({ count: Math.min(left, 30) }))
    expect((await real(bought)).code).toBe('000000')
  }
  return purchase
}

/** The rows of each table except admission's, and the contents of the money and order tables. */
async function contents(): Promise<object> {
  const { db } = bed.node.deps
  const tables = await db.query<{ name: string }>({
    text: `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
           and not relispartition and relname !~ '^(request_ids|qps_buckets)' order by 1`,
  })
  const counted: Record<string, unknown> = {}
  for (const { name } of tables) {
    const isOfMoney = ['wallets', 'transfers', 'orders', 'order_items', 'events', 'deliveries'].includes(name)
    const digest = isOfMoney ? 'md5(string_agg(t::text, chr(10) order by t::text))' : 'null'
    const [row] = await db.query({ text: `select count(*) as rows, ${digest} as digest from "${name}" t` })
    counted[name] = row
  }
  return counted
}

const isIdle = () =>
  waitUntil(async () => {
    const [busy] = await bed.node.deps.db.query({ text: 'select from orders where due_at is not null limit 1' })
    return busy === undefined
  })

describe.each([['esim/order', ORDERS] as const, ['esim/topup', TOP_UPS] as const])(
  'a dry run of %s',
  (operation, purchases) => {
    it('is tested with each code that the operation documents', () => {
      const own = Object.keys(purchases).filter((code) => code >= '200000')
      expect(own.sort()).toEqual([...operations[operation].codes].sort())
    })

    it.each(Object.keys(purchases).sort())(
      'answers %s with the same data as the real call, and writes nothing',
      async (code) => {
        const purchase = await purchases[code]!()
        await isIdle()
        const { itself } = bed.supplier
        const { topUp: method } = itself
        if (code === '200015') delete itself.topUp
        const before = await contents()
        const foretold = await dryRun(purchase)
        expect(await contents()).toEqual(before)
        const answer = await real(purchase)
        Object.assign(itself, { topUp: method })
        expect(answer.code).toBe(code)
        expect(refusalOf(foretold)).toEqual(refusalOf(answer))
      },
    )

    it('returns the amount that the real call then debits, and uses up neither balance nor transactionId', async () => {
      const purchase = operation === 'esim/order' ? order(bed.dealer, lines({ count: 3 })) : topUp()
      await isIdle()
      const before = await contents()
      const first = await dryRun(purchase)
      expect(await dryRun(purchase)).toMatchObject({ code: '000000', data: { balanceAfter: first.data.balanceAfter } })
      const { transactionId: _, ...unnamed } = purchase.body as { transactionId: string }
      expect((await dryRun({ ...purchase, body: unnamed })).data.amount).toBe(first.data.amount)
      expect(await contents()).toEqual(before)
      expectForetold(first, await real(purchase))
      expect((await real({ ...purchase, body: { ...unnamed, validateOnly: false } })).code).toBe('000105')
    })

    it('for a used transactionId returns the order marked as replayed, as the real call does', async () => {
      const purchase = operation === 'esim/order' ? order(bed.dealer) : topUp()
      await real(purchase)
      await isIdle()
      const foretold = await dryRun(purchase)
      expect(foretold.headers['idempotent-replayed']).toBe('true')
      expect(foretold.data).not.toHaveProperty('validateOnly')
      expect(refusalOf(foretold)).toEqual(refusalOf(await real(purchase)))
    })
  },
)

it('an accepted dry run shows how many eSIMs are available now, or null if the supplier does not count them', async () => {
  const line = { packageName: 'Japan JP_1_7', count: 1, price: PRICE, periodNum: null }
  const available = async () => (await dryRun(order(bed.dealer))).data.packageInfoList
  expect(await available()).toEqual([{ packageCode: 'JP_1_7', ...line, available: null }])
  const { db } = bed.node.deps
  await db.query({
    text: `insert into stock_levels (supplier, product_code, available) values ('sandbox', 'JP_1_7', 7)`,
  })
  try {
    const counted = await waitUntil(async () => {
      const lines = await available()
      return lines[0].available !== null && lines
    })
    expect(counted).toEqual([{ packageCode: 'JP_1_7', ...line, available: 7 }])
  } finally {
    await db.query({ text: `delete from stock_levels where supplier = 'sandbox' and product_code = 'JP_1_7'` })
    await waitUntil(async () => (await available())[0].available === null)
  }
})

it('random purchases get the same answer from a dry run as from the real call', async () => {
  const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
  console.info(`SEED=${seed}`)
  const chance = seededRandom(seed)
  const poor = await dealerWith({ creditLimit: 5_000n, dailySpendLimit: 1_000_000n }, 130)
  const owned = await bed.delivered('JP_1_7', poor)
  const used: string[] = []
  for (let round = 0; round < 80; round++) {
    const transactionId = used.length > 0 && chance.between(0, 4) === 0 ? chance.pick(used) : randomUUID()
    const guards = {
      ...(chance.between(0, 5) === 0 && { amount: chance.pick([1, PRICE]) }),
      ...(chance.between(0, 5) === 0 && { remark: 'a note' }),
    }
    const packageCode = chance.pick([
      'JP_1_7',
      'JP_1_7',
      'JP_DAY',
      'JP_DAY_1',
      'JP_GONE',
      'JP_OFF',
      'NOTHING',
      'JP_1_7_TOPUP',
    ])
    const line = {
      ...{ packageCode, count: chance.between(1, 30) },
      ...(chance.between(0, 2) === 0 && { periodNum: chance.between(1, 40) }),
      ...(chance.between(0, 3) === 0 && { price: chance.pick([1, PRICE]) }),
    }
    const { count: _, ...single } = line
    const isTopUp = chance.between(0, 1) === 1
    const purchase: Purchase = isTopUp
      ? {
          ...{ of: poor, operation: 'esim/topup' },
          body: { transactionId, esimTranNo: chance.pick([owned.esimTranNo, randomUUID()]), ...single, ...guards },
        }
      : { of: poor, operation: 'esim/order', body: { transactionId, packageInfoList: [line], ...guards } }
    await isIdle()
    const [foretold, answer] = [await dryRun(purchase), await real(purchase)]
    if (answer.code === '000000') {
      used.push(transactionId)
      expectForetold(foretold, answer)
    } else expect(refusalOf(foretold), JSON.stringify(purchase.body)).toEqual(refusalOf(answer))
  }
}, 300_000)
