import { type ActionAnswer, type CancelPolicy, type EsimAction, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type {
  ActionOutcome,
  ProfileReport,
  SuppliedEsim,
  Supplier,
  SupplierTraits,
} from '@dealer-esim/wholesalers/supplier.ts'
import { expect } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { applyReports } from '#esims/apply-reports.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { type Answer, addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'
import { createScriptedSupplier } from '#test/harness/scripted-supplier.ts'
import { type Shop, waitUntil } from '#test/harness/shop.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'

/** 4.50 USD. */
export const PRICE = 45_000

export interface Esim {
  dealer: Dealer
  esimTranNo: string
  iccid: string
  orderNo: string
  /** The transactionId of the eSIM's order. */
  transactionId: string
}

/** A dealer API node, and a supplier that answers as specified by the test. */
export interface ActionTestbed {
  node: Node
  dealer: Dealer
  supplier: {
    /** The supplier's answer. By default the action is carried out. */
    answer: (action: EsimAction, esim: SuppliedEsim) => ActionOutcome | Promise<ActionOutcome>
    calls: EsimAction[]
    traits: SupplierTraits
    /** The supplier's methods; all by default. */
    can: Partial<Supplier>
  }
  json(of: Dealer, operation: string, body: object): Promise<Answer>
  /** Orders an eSIM and waits for its delivery. @param policy stored with the order; undefined: none */
  delivered(policy?: CancelPolicy, of?: Dealer): Promise<Esim>
  /** Posts an action on the eSIM, under a new transactionId unless one is given. */
  act(esim: Esim, action: EsimAction, body?: object): Promise<Answer>
  /** Runs the worker's due actions. */
  run(): Promise<number>
  /** Sets columns of the eSIM's profile. */
  set(esim: Esim, columns: string): Promise<void>
  /** Applies what the supplier currently reports about the eSIM. */
  report(esim: Esim, report: Omit<ProfileReport, 'time'>): Promise<void>
  action(esim: Esim, transactionId: string): Promise<ActionAnswer>
  /** The eSIM's action as returned by a query. Fails unless the action's last event says the same. */
  ended(esim: Esim, transactionId: string): Promise<ActionAnswer>
  profile(esim: Esim): Promise<{ esimStatus: string; suspended: boolean }>
  /** The refunds of the eSIM's order, one amount per transfer. */
  refunds(esim: Esim): Promise<number[]>
  /** The contents of the tenant's events of a type, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was recorded
  events(of: Dealer, type: string): Promise<any[]>
  /** The faults in the whole ledger. */
  faults(): Promise<string[]>
  close(): Promise<void>
}

/** The outcome of a call whose answer was lost. */
export const LOST = { kind: 'unknown', message: 'no answer' } as const satisfies ActionOutcome

export const FREE: CancelPolicy = { cancellable: true, withinDays: null, feePercent: 0 }

export async function createActionTestbed(): Promise<ActionTestbed> {
  const database = await createTestDatabase()
  const node = await startNode(database.url)
  const { db } = node.deps
  const supplier: ActionTestbed['supplier'] = {
    answer: () => ({ kind: 'done' }),
    calls: [],
    traits: { batch: 1, concurrency: 50, perSecond: null, timeoutMs: 5_000, graceMs: 0, giveUpAfterMs: 3_600_000 },
    can: {},
  }
  const supplied = supplyBy(node, supplier)
  const suppliers = { ...node.deps.suppliers, get: () => supplied, all: () => [supplied] }
  Object.assign(node.deps.suppliers, suppliers)
  await putPackages(node.deps, [packageOf('JP_1_7')], OPERATOR)
  const dealer = await addDealer(node.deps)
  await changeSettings(node.deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
  const loop = fulfilmentLoop(node.deps)
  let count = 0

  const json: ActionTestbed['json'] = (of, operation, body) => call(node, of, operation, { body: JSON.stringify(body) })
  const rowOf = async <Row>(text: string, esim: Esim) =>
    (await db.query<Row>({ text, values: [esim.dealer.tenantId, esim.esimTranNo] }))[0]!

  const action: ActionTestbed['action'] = async (esim, transactionId) =>
    (await json(esim.dealer, 'esim/action/query', { transactionId })).data
  const events: ActionTestbed['events'] = async (of, type) => {
    const rows = await db.query<{ content: unknown }>({
      text: 'select content from events where tenant_id = $1 and notify_type = $2 order by notify_id',
      values: [of.tenantId, type],
    })
    return rows.map(({ content }) => content)
  }

  return {
    ...{ node, dealer, supplier, json, action, events },
    async delivered(policy = FREE, of = dealer) {
      const transactionId = `O-${++count}`
      const request = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
      const { orderNo } = (await json(of, 'esim/order', request)).data
      const [profile] = await waitUntil(async () => {
        const { profileList } = (await json(of, 'esim/profile/list', { transactionId })).data
        return profileList.length > 0 && profileList
      })
      await db.query({
        text: `update orders set package_lines = case when $3::jsonb is null then package_lines #- '{0,cancelPolicy}'
                 else jsonb_set(package_lines, '{0,cancelPolicy}', $3) end
               where tenant_id = $1 and transaction_id = $2`,
        values: [of.tenantId, transactionId, policy === NONE ? null : JSON.stringify(policy)],
      })
      return { dealer: of, esimTranNo: profile.esimTranNo, iccid: profile.iccid, orderNo, transactionId }
    },
    act(esim, action, body = {}) {
      const request = { transactionId: `A-${++count}`, action, esimTranNo: esim.esimTranNo, ...body }
      return json(esim.dealer, `esim/${action.toLowerCase()}`, request)
    },
    run: () => runDueActions(node.deps),
    async set(esim, columns) {
      await rowOf(`update profiles set ${columns} where tenant_id = $1 and profile_id = $2 returning 1`, esim)
    },
    async report(esim, report) {
      const text = 'select order_id from profiles where tenant_id = $1 and profile_id = $2'
      const { orderId } = await rowOf<{ orderId: string }>(text, esim)
      const about = { orderId, profileId: esim.esimTranNo, report: { time: new Date(), ...report } }
      await applyReports(node.deps, esim.dealer.tenantId, [about])
    },
    profile: (esim) =>
      rowOf('select esim_status, suspended from profiles where tenant_id = $1 and profile_id = $2', esim),
    async refunds(esim) {
      const rows = await db.query<{ amount: bigint }>({
        text: `select t.amount from transfers t join orders o using (tenant_id, order_id)
               where t.tenant_id = $1 and o.transaction_id = $2 and kind = 'REFUND'`,
        values: [esim.dealer.tenantId, esim.transactionId],
      })
      return rows.map(({ amount }) => Number(amount))
    },
    async ended(esim, transactionId) {
      const found = await action(esim, transactionId)
      const ofType = await events(esim.dealer, 'ESIM_ACTION_UPDATED')
      expect(ofType.filter(({ actionNo }) => actionNo === found.actionNo).at(-1)).toEqual(found)
      return found
    },
    async faults() {
      const faults: string[] = []
      await verifyLedger(db, { onFault: ({ message }) => faults.push(message) })
      return faults
    },
    async close() {
      await loop.stop(5_000)
      await node.stop()
      await database.drop()
    },
  }
}

/** An order placed before policies were stored. */
export const NONE: CancelPolicy = { cancellable: false, withinDays: null, feePercent: 0 }

function packageOf(packageCode: string) {
  return packageInput({
    packageCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
    suppliers: [{ supplier: 'sandbox', productCode: 'X' }],
  })
}

function supplyBy(node: Node, supplier: ActionTestbed['supplier']) {
  const ask = (action: EsimAction) => async (esim: SuppliedEsim) => {
    supplier.calls.push(action)
    return supplier.answer(action, esim)
  }
  const script: Partial<Supplier> = {
    name: 'sandbox',
    async cancel(esim) {
      const outcome = await ask('CANCEL')(esim)
      return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
    },
    suspend: ask('SUSPEND'),
    unsuspend: ask('UNSUSPEND'),
    revoke: ask('REVOKE'),
  }
  const { supplied } = createScriptedSupplier(node.deps as unknown as Shop, script)
  Object.assign(supplied.supplier, { traits: supplier.traits })
  supplier.can = supplied.supplier
  return supplied
}
