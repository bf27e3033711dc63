import { randomUUID } from 'node:crypto'
import type { Db, Statement } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { applyReports } from '#esims/apply-reports.ts'
import type { Verdict } from '#orders/placing/decide-order.ts'
import { createOrderPlacer, type OrderPlacer } from '#orders/placing/order-placer.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { createTopUpTestbed, type Esim, type TopUpTestbed } from './topup-testbed.ts'

/*
 * A node decides a top-up on its cached wallet without reading the eSIM. If the eSIM is not as expected, or changes before
 * the top-up is written, the writing statement must detect it, and the top-up must be decided again from what is read.
 */

const FINDS = 'orders-esims-by-iccid'
const WRITES = 'orders-write-if-esims-unchanged'
const LOCKS = 'wallets-lock'

let bed: TopUpTestbed
beforeAll(async () => {
  bed = await createTopUpTestbed()
  Object.assign(bed.supplier.itself, { cancel: async () => ({ kind: 'cancelled' }), suspend: DONE, revoke: DONE })
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const DONE = async () => ({ kind: 'done' })

/** A separate placer, as on another node, and the statements it sends. */
function createPlacer() {
  const statements: string[] = []
  /** Runs once, after the orders are decided and before they are written. */
  const between: { happens?: (() => Promise<unknown>) | undefined } = {}
  /** Delays the transactions that place orders until it resolves. */
  const gate: { opens?: Promise<unknown> | undefined; isReached?: boolean } = {}
  const { db } = bed.node.deps
  const listening: Db = {
    ...db,
    async query<Row>(statement: Statement) {
      statements.push(statement.name!)
      return db.query<Row>(statement)
    },
    tx: async (work) => {
      gate.isReached = true
      await gate.opens
      const { happens } = between
      between.happens = undefined
      await happens?.()
      return db.tx((tx) =>
        work({
          ...tx,
          query(statement) {
            statements.push(statement.name!)
            return tx.query(statement)
          },
        }),
      )
    },
  }
  const { clock, databaseClock, ids, catalogue, suppliers } = bed.node.deps
  const placer = createOrderPlacer({
    ...{ db: listening, clock, databaseClock, ids, catalogue, suppliers },
    stock: { available: () => undefined },
    maintainPartitions: async () => {},
    wake: bed.node.deps.wake,
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
  return { placer, statements, between, gate }
}

type Placing = ReturnType<typeof createPlacer> & { dealer: Dealer; esim: Esim; other: Esim; third: Esim }

/** A dealer with three eSIMs, whose wallet is cached by a placer. */
async function openDealer(): Promise<Placing> {
  const dealer = await addDealer(bed.node.deps)
  const esim = await bed.delivered('JP_1_7', dealer)
  const other = await bed.delivered('JP_1_7', dealer)
  const third = await bed.delivered('JP_1_7', dealer)
  const placing = createPlacer()
  expect(codeOf(await order(placing.placer, dealer))).toBe('placed')
  placing.statements.length = 0
  return { ...placing, dealer, esim, other, third }
}

const tenantOf = ({ tenantId }: Dealer) => ({ tenantId, currencyCode: 'USD' })

function order(placer: OrderPlacer, dealer: Dealer, transactionId: string = randomUUID()) {
  const request = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  return placer.place({ tenant: tenantOf(dealer), orderId: bed.node.deps.ids.uuid(), request })
}

function topUp(placer: OrderPlacer, esim: Esim, body: object = {}) {
  const request = {
    transactionId: randomUUID(),
    esimTranNo: esim.esimTranNo,
    packageCode: 'JP_1_7_TOPUP',
    ...body,
  }
  const tenant = tenantOf(esim.dealer)
  return placer.place({ orderType: 'TOPUP', tenant, orderId: bed.node.deps.ids.uuid(), request })
}

const codeOf = (verdict: Verdict) => (verdict.kind === 'refused' ? verdict.code : verdict.kind)

/** @returns how many top-ups of eSIMs were debited */
async function debitsOf({ tenantId }: Dealer): Promise<number> {
  const [row] = await bed.node.deps.db.query<{ count: number }>({
    text: `select count(*)::int from transfers where tenant_id = $1 and kind = 'ESIM_TOPUP'`,
    values: [tenantId],
  })
  return row!.count
}

describe('a top-up on a cached wallet', () => {
  it('is written by one statement, preceded by a look-up if only the eSIM’s ICCID is given', async () => {
    const { placer, statements, esim, other, third, dealer } = await openDealer()
    const verdict = await topUp(placer, esim)
    expect(verdict).toMatchObject({ kind: 'placed', answer: { orderType: 'TOPUP', esimTranNo: esim.esimTranNo } })
    const byIccid = await topUp(placer, other, { esimTranNo: undefined, iccid: `${other.iccid}F` })
    expect(byIccid).toMatchObject({ kind: 'placed', answer: { esimTranNo: other.esimTranNo } })
    const byBoth = await topUp(placer, third, { esimTranNo: third.esimTranNo.toUpperCase(), iccid: third.iccid })
    expect(byBoth).toMatchObject({ kind: 'placed', answer: { esimTranNo: third.esimTranNo } })
    expect(statements).toEqual([WRITES, FINDS, WRITES, WRITES])
    expect(await debitsOf(dealer)).toBe(3)
  })

  it('shares its statement with orders and top-ups on other wallets', async () => {
    const { placer, statements, dealer, esim, other } = await openDealer()
    const second = await addDealer(bed.node.deps)
    const theirs = await bed.delivered('JP_1_7', second)
    await order(placer, second)
    statements.length = 0
    const again = { transactionId: 'T-again' }
    const verdicts = await Promise.all([
      topUp(placer, esim, again),
      order(placer, dealer),
      topUp(placer, theirs),
      topUp(placer, other),
      topUp(placer, esim, again),
      topUp(placer, other, { iccid: other.iccid }),
    ])
    expect(verdicts.map(codeOf)).toEqual(['placed', 'placed', 'placed', 'placed', 'replayed', 'placed'])
    expect(verdicts[0]).toMatchObject({ answer: { esimTranNo: esim.esimTranNo } })
    expect(verdicts[2]).toMatchObject({ answer: { esimTranNo: theirs.esimTranNo } })
    expect(statements).toEqual([WRITES])
    expect([await debitsOf(dealer), await debitsOf(second)]).toEqual([3, 1])
  })

  it('for another tenant’s eSIM is refused, and the rest of its batch is placed', async () => {
    const { placer, statements, dealer, esim } = await openDealer()
    const stranger = { ...esim, dealer: await addDealer(bed.node.deps) }
    await order(placer, stranger.dealer)
    statements.length = 0
    const verdicts = await Promise.all([topUp(placer, stranger), topUp(placer, esim)])
    expect(verdicts.map(codeOf)).toEqual(['310403', 'placed'])
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect([await debitsOf(dealer), await debitsOf(stranger.dealer)]).toEqual([1, 0])
  })

  it('counts the volume of earlier top-ups in the same batch', async () => {
    const { placer, esim, dealer } = await openDealer()
    await leaveRoomForOne(esim)
    const verdicts = await Promise.all([topUp(placer, esim), topUp(placer, esim)])
    expect(verdicts.map(codeOf)).toEqual(['placed', '310245'])
    expect(await debitsOf(dealer)).toBe(1)
  })
})

/** Gives the eSIM a volume that leaves room for only one more package. */
const leaveRoomForOne = (esim: Esim) => bed.set(esim, 'total_volume = 9007199254740991 - 1073741824')

const suspend = async ({ esim, dealer }: Placing, transactionId: string = randomUUID()) => {
  const request = { transactionId, action: 'SUSPEND', esimTranNo: esim.esimTranNo }
  expect((await bed.json(dealer, 'esim/suspend', request)).code).toBe('000000')
}

const actAsOperator = async ({ esim, dealer }: Placing, action: 'CANCEL' | 'REVOKE' | 'SUSPEND') => {
  const subject = { tenantId: dealer.tenantId, profileId: esim.esimTranNo, action, reason: 'as asked' }
  return actForOperator(bed.node.deps, subject, OPERATOR)
}

async function reportCancelled({ esim, dealer }: Placing) {
  const [row] = await bed.node.deps.db.query<{ orderId: string }>({
    text: 'select order_id from profiles where tenant_id = $1 and profile_id = $2',
    values: [dealer.tenantId, esim.esimTranNo],
  })
  const report = { time: new Date(), esimStatus: 'CANCEL' } as const
  await applyReports(bed.node.deps, dealer.tenantId, [{ orderId: row!.orderId, profileId: esim.esimTranNo, report }])
}

describe('a top-up whose eSIM is not as expected is decided on the eSIM as it is read:', () => {
  it.each<[string, (placing: Placing) => Promise<unknown>, object, string]>([
    ['cancelled', ({ esim }) => bed.set(esim, `esim_status = 'CANCEL'`), {}, '200002'],
    ['revoked', ({ esim }) => bed.set(esim, `esim_status = 'REVOKED'`), {}, '200002'],
    ['expired unused', ({ esim }) => bed.set(esim, `esim_status = 'UNUSED_EXPIRED'`), {}, '200002'],
    ['deleted from its device', ({ esim }) => bed.set(esim, `smdp_status = 'DELETED'`), {}, '200002'],
    ['with an action in progress', async (placing) => suspend(await inUse(placing)), {}, '200002'],
    ['of another supplier', ({ esim }) => bed.set(esim, `supplier = 'another'`), {}, '310245'],
    ['without room', ({ esim }) => bed.set(esim, 'total_volume = 9007199254740991 - 1073741823'), {}, '310245'],
    ['with an ICCID other than that of the request', async () => {}, { iccid: '8943108999999999999' }, '310403'],
    ['that does not exist', async () => {}, { esimTranNo: randomUUID() }, '310403'],
    ['that is a day pass', ({ esim, dealer }) => nowBoughtAs(esim, dealer, 'JP_DAY'), {}, '310245'],
    ['with another top-up in progress', ({ esim }) => beginTopUp(esim), {}, 'placed'],
  ])('%s', async (_, become, body, expected) => {
    const placing = await openDealer()
    const { placer, statements, dealer, esim } = placing
    await become(placing)
    await vi.waitFor(async () => {
      statements.length = 0
      await order(placer, dealer)
      expect(statements).toEqual(['orders-write-if-unchanged']) // the wallet is cached in its current state
    }, 20_000)
    statements.length = 0
    const before = await debitsOf(dealer)
    expect(codeOf(await topUp(placer, esim, body))).toBe(expected)
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect((await debitsOf(dealer)) - before).toBe(expected === 'placed' ? 1 : 0)
  })
})

const inUse = async (placing: Placing) => {
  await bed.set(placing.esim, `esim_status = 'IN_USE'`)
  return placing
}

/** Leaves a top-up in progress: the supplier never reports its outcome. */
async function beginTopUp(esim: Esim) {
  bed.supplier.topUp = bed.supplier.query = () => ({ kind: 'unknown', message: 'no answer' })
  expect(codeOf(await topUp(createPlacer().placer, esim))).toBe('placed')
}

const nowBoughtAs = (esim: Esim, { tenantId }: Dealer, packageCode: string) =>
  bed.node.deps.db.query({
    text: `update order_items i set package_code = $3 from profiles p
           where p.tenant_id = $1 and p.profile_id = $2
             and i.tenant_id = $1 and i.order_id = p.order_id and i.item_no = p.item_no`,
    values: [tenantId, esim.esimTranNo, packageCode],
  })

describe('a change between the decision and the debit is detected:', () => {
  it.each<[string, (placing: Placing) => Promise<unknown>, string, number]>([
    ['an action that a dealer has begun', (placing) => suspend(placing), '200002', 0],
    [
      'an action that has begun and is done',
      async (placing) => {
        const { dealer, esim } = placing
        const request = { transactionId: randomUUID(), action: 'REVOKE', esimTranNo: esim.esimTranNo }
        expect((await bed.json(dealer, 'esim/revoke', request)).code).toBe('000000')
        await runDueActions(bed.node.deps)
        expect((await bed.profile(esim)).esimStatus).toBe('REVOKED')
      },
      '200002',
      0,
    ],
    [
      'an operator’s cancel',
      async (placing) => {
        await actAsOperator(placing, 'CANCEL')
        expect((await bed.profile(placing.esim)).esimStatus).toBe('CANCEL')
      },
      '200002',
      0,
    ],
    [
      'an operator’s revocation, which moves no money',
      async (placing) => {
        await actAsOperator(placing, 'REVOKE')
        expect((await bed.profile(placing.esim)).esimStatus).toBe('REVOKED')
      },
      '200002',
      0,
    ],
    ['a cancel by the supplier itself', reportCancelled, '200002', 0],
    ['a top-up of the same eSIM by another node', ({ esim }) => topUp(createPlacer().placer, esim), 'placed', 2],
    [
      'a top-up by another node that leaves no room',
      async ({ esim }) => expect(codeOf(await topUp(createPlacer().placer, esim))).toBe('placed'),
      '310245',
      1,
    ],
    [
      'its own transactionId on another node',
      ({ esim }) => topUp(createPlacer().placer, esim, { transactionId: 'T-own' }),
      'replayed',
      1,
    ],
    [
      'its own transactionId on another node, of another eSIM',
      ({ other }) => topUp(createPlacer().placer, other, { transactionId: 'T-own' }),
      '200012',
      1,
    ],
    [
      'an order on another node that has its transactionId',
      ({ dealer }) => order(createPlacer().placer, dealer, 'T-own'),
      '200012',
      0,
    ],
    [
      'an action on another eSIM that has its transactionId',
      (placing) => suspend({ ...placing, esim: placing.other }, 'T-own'),
      '200012',
      0,
    ],
  ])('%s', async (name, happens, expected, debits) => {
    const placing = await openDealer()
    const { placer, statements, between, dealer, esim, other } = placing
    for (const each of [esim, other]) await bed.set(each, `esim_status = 'IN_USE'`)
    if (name.includes('cancel')) await bed.set(esim, `esim_status = 'GOT_RESOURCE'`)
    if (name.includes('room')) await leaveRoomForOne(esim)
    between.happens = () => happens(placing)
    expect(codeOf(await topUp(placer, esim, { transactionId: 'T-own' }))).toBe(expected)
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect(await debitsOf(dealer)).toBe(debits)
  })

  it('a package that goes off sale', async () => {
    const { placer, statements, between, dealer, esim } = await openDealer()
    const sell = (isOnSale: boolean) => setOnSale(bed.node.deps, { packageCodes: ['JP_1_7_TOPUP'] }, isOnSale, OPERATOR)
    between.happens = () => sell(false)
    expect(codeOf(await topUp(placer, esim))).toBe('310244')
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    await sell(true)
    expect(await debitsOf(dealer)).toBe(0)
  })
})

describe('a top-up that arrives while a batch for its wallet is being written', () => {
  /** Holds the earlier batch back before it is written, sends the top-up, runs `happens`, and lets the batch continue. */
  async function topUpDuring(
    { placer, gate, esim }: Placing,
    earlier: () => Promise<Verdict>,
    happens: () => Promise<unknown> = async () => {},
  ): Promise<Verdict[]> {
    let open = () => {}
    gate.opens = new Promise<void>((resolve) => {
      open = resolve
    })
    gate.isReached = false
    const first = earlier()
    await vi.waitFor(() => expect(gate.isReached).toBe(true), 20_000)
    const second = topUp(placer, esim)
    await happens()
    open()
    return Promise.all([first, second])
  }

  it('is written by one statement if that batch topped up another eSIM', async () => {
    const placing = await openDealer()
    const { placer, statements, dealer, other } = placing
    expect((await topUpDuring(placing, () => topUp(placer, other))).map(codeOf)).toEqual(['placed', 'placed'])
    expect(statements).toEqual([WRITES, WRITES])
    expect(await debitsOf(dealer)).toBe(2)
  })

  it('is decided on the eSIM as that batch leaves it', async () => {
    const placing = await openDealer()
    const { placer, statements, dealer, esim } = placing
    await leaveRoomForOne(esim)
    expect((await topUpDuring(placing, () => topUp(placer, esim))).map(codeOf)).toEqual(['placed', '310245'])
    expect(statements.slice(0, 3)).toEqual([WRITES, WRITES, LOCKS])
    expect(await debitsOf(dealer)).toBe(1)
  })

  it('is refused if an action began while the top-up waited', async () => {
    const placing = await openDealer()
    const { placer, dealer, esim } = placing
    await bed.set(esim, `esim_status = 'IN_USE'`)
    const verdicts = await topUpDuring(
      placing,
      () => order(placer, dealer),
      () => suspend(placing),
    )
    expect(verdicts.map(codeOf)).toEqual(['placed', '200002'])
    expect(await debitsOf(dealer)).toBe(0)
  })
})

it('two hundred top-ups with one transactionId are debited once by two placers with cached wallets', async () => {
  const { placer, esim, dealer } = await openDealer()
  const second = createPlacer()
  for (let round = 0; round < 3; round++) {
    const transactionId = `T-once-${round}`
    const placers = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? placer : second.placer))
    const verdicts = await Promise.all(placers.map((each) => topUp(each, esim, { transactionId })))
    expect(verdicts.filter(({ kind }) => kind === 'placed')).toHaveLength(1)
    expect(verdicts.filter(({ kind }) => kind === 'replayed')).toHaveLength(199)
    expect(await debitsOf(dealer)).toBe(round + 1)
  }
})
