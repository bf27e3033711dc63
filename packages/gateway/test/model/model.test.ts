import { orderNoOf } from '@dealer-esim/contract'
import { SANDBOX_PRODUCTS } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { type Answer, addDealer, addTwin, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type CrashingGateway, startCrashingGateway } from './crashing-gateway.ts'
import { amountOf, CANCEL_POLICY, type EsimKey, Model, OFF_SALE, PACKAGES, TOP_UPS } from './model.ts'
import { type RequestStep, type Step, sequences } from './steps.ts'

/*
 * Compares random sequences of actions by a dealer and an operator, with crashes of the gateway, with an in-memory model.
 * SEED=… repeats a run; MODEL_SEQUENCES=… makes it longer.
 */

const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 5)
/** The duration of the longest step: a gateway that crashes twice and restarts on a busy machine. */
const STEP_MS = 60_000
const PRODUCTS: Readonly<Record<string, string>> = {
  PARTLY: SANDBOX_PRODUCTS.partial,
  REFUSED: SANDBOX_PRODUCTS.refused,
  NOT_ADDED: SANDBOX_PRODUCTS.refused,
}
const VOLUME = 1_073_741_824

let database: TestDatabase
let operator: Node
let gateway: CrashingGateway

beforeAll(async () => {
  database = await createTestDatabase()
  operator = await startNode(database.url)
  const { deps } = operator
  // Long timeouts, so that nothing is abandoned because a busy machine is slow.
  const config = { giveUpAfterMs: 86_400_000 }
  await addSupplier(deps, { name: 'model', type: 'sandbox', config }, OPERATOR)
  const packages = Object.entries(PACKAGES).map(([code, { price }]) =>
    onSale(code, price, code === 'FINE' ? { cancelPolicy: CANCEL_POLICY } : {}),
  )
  const topUps = Object.entries(TOP_UPS).map(([code, { price }]) => onSale(code, price, { packageType: 'TOPUP' }))
  await putPackages(deps, [...packages, ...topUps, onSale(OFF_SALE, 1n)], OPERATOR)
  await setOnSale(deps, { packageCodes: [OFF_SALE] }, false, OPERATOR)
  gateway = await startCrashingGateway(database.url, deps.db)
})
afterAll(async () => {
  await gateway?.stop()
  await operator.stop()
  await database.drop()
})

function onSale(packageCode: string, price: bigint, members: Record<string, unknown> = {}) {
  return packageInput({
    packageCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: Number(price), retailPrice: null }],
    suppliers: [{ supplier: 'model', productCode: PRODUCTS[packageCode] ?? 'SANDBOX_OK' }],
    ...members,
  })
}

test('a tenant’s orders and balance match the model through crashes, and the ledger stays consistent', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`model: SEED=${seed}`)
  const property = fc.asyncProperty(sequences, async (steps) => {
    const dealer = await addDealer(operator.deps, 0)
    const play = { model: new Model(), dealer, twin: await addTwin(operator.deps, dealer), ofTwin: new Set<string>() }
    for (const [index, step] of steps.entries()) {
      await timed(`step ${index + 1}, ${stepText(step)}`, async () => {
        await take(step, play)
        await gateway.waitUntilFinal(play.dealer.tenantId)
        play.model.settle()
        await expectAccount(play)
      })
    }
    await timed('the end', async () => {
      await expectOrders(play)
      await expectEsims(play)
      await expectTwin(play)
    })
  })
  await fc.assert(property, { seed, numRuns: SEQUENCES, endOnFailure: true })
}, 600_000)

interface Play {
  model: Model
  dealer: Dealer
  /** The dealer's test twin, which sends every request first. The model does not know it: nothing of it may be found. */
  twin: Dealer
  /** The transactionIds of its orders. */
  ofTwin: Set<string>
}

async function take(step: Step, play: Play): Promise<void> {
  const { model, dealer } = play
  const { deps } = operator
  const { tenantId } = dealer
  switch (step.do) {
    case 'top up': {
      const posting = topUp(deps, { tenantId, amount: step.amount, reference: step.reference }, OPERATOR)
      const outcome = await posting.then(
        ({ replayed }) => (replayed ? 'repeated' : 'posted'),
        ({ code }) => (code === 'REFERENCE_USED' ? 'refused' : code),
      )
      return expect(outcome).toBe(model.topUp(step.reference, step.amount))
    }
    case 'limit': {
      const { creditLimit, dailySpendLimit } = step
      await changeSettings(deps, tenantId, { creditLimit, dailySpendLimit }, OPERATOR)
      Object.assign(model, { creditLimit, dailySpendLimit })
      return
    }
    case 'request':
    case 'kill':
    case 'cut':
      return request(step, play)
    default:
      step satisfies never
  }
}

/** Sends the same body `calls` times concurrently, and repeats after a lost connection, as a dealer would. */
async function request(step: RequestStep, play: Play): Promise<void> {
  const { dealer } = play
  const asked = await requestOf(step, play)
  if (asked === undefined) return
  const body = JSON.stringify(asked.body)
  await requestOfTwin(play, asked.operation, body)
  const answering = Promise.all(
    Array.from({ length: step.calls }, () => gateway.request(dealer, asked.operation, body)),
  )
  if (step.do === 'kill') await gateway.kill(step.afterMs, step.next)
  if (step.do === 'cut') await gateway.closeSessions(step.afterMs)
  const answered = await answering
  const answers = answered.map(({ answer }) => answer)
  const expected = asked.expect(dayOf(answers))
  expect(new Set(answers.map((answer) => answer.code))).toEqual(new Set([expected.code]))
  if (expected.code !== '000000') return
  for (const { data } of answers) expect(data).toMatchObject({ transactionId: asked.body.transactionId })
  if ('amount' in expected && 'balanceAfter' in expected) {
    const numbers = { amount: Number(expected.amount), balanceAfter: Number(expected.balanceAfter) }
    for (const { data } of answers) expect(data).toMatchObject(numbers)
  }
  const ids = answers.map(({ data }) => `${data.orderNo} ${data.actionNo} ${data.createTime}`)
  expect(new Set(ids).size).toBe(1)
  const firsts = answers.filter(({ headers }) => headers['idempotent-replayed'] !== 'true').length
  // If an answer was lost, it may have been the first one.
  const anyLost = answered.some(({ wasLost }) => wasLost)
  expect(firsts).toBeLessThanOrEqual(expected.isNew ? 1 : 0)
  if (!anyLost) expect(firsts).toBe(expected.isNew ? 1 : 0)
}

/** The twin may buy the same packages under the same transactionIds, and does not find its dealer's eSIMs. */
async function requestOfTwin({ twin, ofTwin }: Play, operation: string, body: string): Promise<void> {
  const { answer } = await gateway.request(twin, operation, body)
  // Its own orders have taken some transactionIds.
  const isTaken = ofTwin.has(JSON.parse(body).transactionId)
  if (operation !== 'esim/order') return expect(answer.code).toBe(isTaken ? '200012' : '310403')
  if (answer.code === '000000') ofTwin.add(answer.data.transactionId)
}

async function expectTwin({ twin: { tenantId }, ofTwin }: Play): Promise<void> {
  const { db } = (await operator.deps.twins.open())!
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: (fault) => faults.push(fault.message) })
  expect(faults).toEqual([])
  const orders = await db.query<{ transactionId: string }>({
    text: 'select transaction_id from orders where tenant_id = $1',
    values: [tenantId],
  })
  expect(orders.map(({ transactionId }) => transactionId).sort()).toEqual([...ofTwin].sort())
}

/** @returns undefined for a request about an eSIM while the dealer has no eSIM */
async function requestOf({ request }: RequestStep, { model, dealer }: Pick<Play, 'model' | 'dealer'>) {
  if (request.kind === 'order') {
    const { transactionId, lines, isMisquoted } = request.input
    const body = {
      transactionId,
      packageInfoList: lines,
      ...(isMisquoted ? { amount: Number(amountOf(lines)) + 1 } : {}),
    }
    return { operation: 'esim/order', body, expect: (day: string) => model.order(request.input, day) }
  }
  const esim = model.esims[request.esim % model.esims.length]
  if (esim === undefined) return undefined
  const { transactionId } = request
  const esimTranNo = await findProfile(dealer.tenantId, esim)
  if (request.kind === 'cancel') {
    return {
      operation: 'esim/cancel',
      body: { transactionId, action: 'CANCEL', esimTranNo },
      expect: () => model.cancel({ transactionId, esim }),
    }
  }
  const { packageCode } = request
  return {
    operation: 'esim/topup',
    body: { transactionId, esimTranNo, packageCode },
    expect: (day: string) => model.addPackage({ transactionId, esim, packageCode }, day),
  }
}

async function findProfile(tenantId: string, { orderTransactionId, itemNo }: EsimKey): Promise<string> {
  const [row] = await operator.deps.db.query<{ profileId: string }>({
    text: `select profile_id from profiles p join orders o using (tenant_id, order_id)
           where tenant_id = $1 and transaction_id = $2 and p.item_no = $3`,
    values: [tenantId, orderTransactionId, itemNo],
  })
  return row!.profileId
}

/** The day on which the orders were decided; around midnight, the day of the last one. */
function dayOf(answers: Answer[]): string {
  const { data } = answers.at(-1)!
  const ends = data.resetTime && new Date(Date.parse(data.resetTime) - 1)
  return (ends ? ends.toISOString() : (data.createTime ?? '')).slice(0, 10)
}

async function expectAccount({ model, dealer }: Play): Promise<void> {
  const { tenantId } = dealer
  const faults: string[] = []
  await verifyLedger(operator.deps.db, { tenantId, pageRows: 3, onFault: (fault) => faults.push(fault.message) })
  expect(faults).toEqual([])
  const [wallet] = await operator.deps.db.query({
    text: 'select balance, version from wallets where tenant_id = $1',
    values: [tenantId],
  })
  expect(wallet).toEqual({ balance: model.balance, version: model.version })
  const { answer } = await gateway.request(dealer, 'account/balance', '{}')
  expect(answer.data).toMatchObject({
    balance: Number(model.balance),
    creditLimit: Number(model.creditLimit),
    availableBalance: Number(model.balance + model.creditLimit),
  })
}

/** Compares each order as shown to its dealer, and the supplier's records of its purchases, with the model. */
async function expectOrders({ model, dealer }: Play): Promise<void> {
  const rows = await operator.deps.db.query<{ transactionId: string; orderId: string; paid: number }>({
    text: `select transaction_id, order_id, (select count(*)::int from events e where e.tenant_id = o.tenant_id
             and e.order_id = o.order_id and e.notify_type = 'ORDER_PAID') as paid
           from orders o where tenant_id = $1`,
    values: [dealer.tenantId],
  })
  expect(rows.map((row) => row.transactionId).sort()).toEqual([...model.orders.keys()].sort())
  for (const { transactionId, orderId, paid } of rows) {
    const expected = model.orders.get(transactionId)!
    const { answer } = await gateway.request(dealer, 'esim/query', JSON.stringify({ transactionId: transactionId }))
    expect(answer.data).toMatchObject({
      orderStatus: expected.status,
      amount: Number(expected.amount),
      refundedAmount: Number(expected.refunded),
    })
    expect(paid).toBe(1)
    const records = await operator.deps.db.query<{ requests: number }>({
      text: `select requests from sandbox_issued where supplier = 'model' and key like $1`,
      values: [`${orderNoOf(orderId)}-%`],
    })
    expect(records).toEqual(Array.from({ length: expected.count }, () => ({ requests: 1 })))
  }
}

/** Compares each eSIM and each cancel, here and at the supplier, with the model. */
async function expectEsims({ model, dealer }: Play): Promise<void> {
  const { db } = operator.deps
  const values = [dealer.tenantId]
  const profiles = await db.query<EsimKey & { orderId: string; esimStatus: string; volume: bigint }>({
    text: `select transaction_id as order_transaction_id, order_id, p.item_no, esim_status, total_volume as volume
           from profiles p join orders o using (tenant_id, order_id) where tenant_id = $1`,
    values,
  })
  const expected = model.esims.map(({ orderTransactionId, itemNo, isCancelled, toppedUp }) => {
    const volume = BigInt(VOLUME * (1 + toppedUp))
    return { orderTransactionId, itemNo, esimStatus: isCancelled ? 'CANCEL' : 'GOT_RESOURCE', volume }
  })
  expect(sorted(profiles.map(({ orderId: _, ...esim }) => esim))).toEqual(sorted(expected))
  const actions = await db.query<{ transactionId: string; actionStatus: string }>({
    text: 'select transaction_id, action_status from esim_actions where tenant_id = $1',
    values,
  })
  expect(actions.map(({ transactionId }) => transactionId).sort()).toEqual([...model.actions.keys()].sort())
  for (const { actionStatus } of actions) expect(actionStatus).toBe('DONE')
  const keys = profiles.map(({ orderId, itemNo }) => `${orderNoOf(orderId)}-${itemNo}`)
  const cancelled = await db.query({
    text: `select from sandbox_issued where supplier = 'model' and key = any ($1) and cancelled_at is not null`,
    values: [keys],
  })
  expect(cancelled).toHaveLength(model.actions.size)
}

function sorted(rows: EsimKey[]): EsimKey[] {
  const key = ({ orderTransactionId, itemNo }: EsimKey) => `${orderTransactionId} ${itemNo}`
  return [...rows].sort((left, right) => key(left).localeCompare(key(right)))
}

/** Adds the step to the error message if the step hangs or fails. */
async function timed(name: string, work: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${STEP_MS / 1000} s`)), STEP_MS)
  })
  try {
    await Promise.race([work(), late])
  } catch (error) {
    const failure = error as Error
    failure.message = `${name}: ${failure.message}\n${gateway.lastOutput()}`
    throw failure
  } finally {
    clearTimeout(timer)
  }
}

function stepText(step: Step): string {
  return JSON.stringify(step, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}
