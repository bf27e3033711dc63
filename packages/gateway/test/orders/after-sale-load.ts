import { randomUUID } from 'node:crypto'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'
import { waitUntil } from '../harness/shop.ts'
import type { OrderLoad } from './order-load.ts'
import type { seededRandom } from './seeded-random.ts'

/** One top-up or action, and the answer to its caller; undefined: the connection was lost. */
export interface RequestedSale {
  operation: 'esim/topup' | 'esim/cancel' | 'esim/revoke' | 'esim/suspend'
  body: { transactionId: string; esimTranNo: string; action?: string }
  answer: Answer | undefined
}

export interface AfterSaleLoad {
  readonly requested: RequestedSale[]
  /** Resolves when the next suspension is requested, which may take seconds, because eSIMs first have to go into use. */
  waitForSuspension(): Promise<void>
  /** Callers finish their requests and stop. The load of orders continues until then. */
  stop(): Promise<void>
}

/** Packages whose actions are carried out for a fee, refused, or never answered. */
const PACKAGES = ['SANDBOX_CANCEL_FEE', 'SANDBOX_CANCEL_FEE', 'SANDBOX_ACTION_REFUSED', 'SANDBOX_ACTION_UNKNOWN']
const TOP_UPS = ['SANDBOX_TOPUP', 'SANDBOX_TOPUP', 'SANDBOX_TOPUP_REFUSED']
/** A package whose eSIMs go into use automatically, as a suspension requires. */
const USED_PACKAGE = 'SANDBOX_USAGE'
const ESIMS = 4
const PAUSE_MS = 100
/** An order leased by a killed gateway waits for its lease to end, which may take as long as the whole load. */
const DELIVERED_WITHIN_MS = 4_000
/**
 * The time for an order, its delivery and the next two polls of its usage, and for another order if the first is not
 * delivered in time.
 */
const SUSPENDED_WITHIN_MS = 60_000

/**
 * Callers that order eSIMs, and then top up, cancel or revoke each, or do two of these at the same moment; one of them
 * waits until its eSIMs are in use, and suspends them. They never repeat a request: the test finds out what happened to it.
 */
export function startAfterSaleLoad(
  load: OrderLoad,
  dealer: Dealer,
  callers: number,
  chance: ReturnType<typeof seededRandom>,
): AfterSaleLoad {
  const requested: RequestedSale[] = []
  let stopped = false

  /** @returns undefined if the connection was lost */
  async function ask(operation: string, body: object): Promise<Answer | undefined> {
    const at = await load.findTarget()
    return at && call(at, dealer, operation, { body: JSON.stringify(body) }).catch(() => undefined)
  }

  async function request(operation: RequestedSale['operation'], body: RequestedSale['body']): Promise<void> {
    const sale: RequestedSale = { operation, body, answer: undefined }
    requested.push(sale)
    sale.answer = await ask(operation, body)
  }

  function sell(esimTranNo: string): Promise<unknown> {
    const topUp = () => {
      const body = { transactionId: randomUUID(), esimTranNo, packageCode: chance.pick(TOP_UPS) }
      return request('esim/topup', body)
    }
    const [cancel, revoke] = [() => act('CANCEL', esimTranNo), () => act('REVOKE', esimTranNo)]
    const both = (one: () => Promise<void>, other: () => Promise<void>) => () => Promise.all([one(), other()])
    return chance.pick([topUp, cancel, revoke, both(topUp, cancel), both(cancel, topUp), both(topUp, revoke)])()
  }

  function act(action: 'CANCEL' | 'REVOKE' | 'SUSPEND', esimTranNo: string): Promise<void> {
    const operation = `esim/${action.toLowerCase()}` as RequestedSale['operation']
    return request(operation, { transactionId: randomUUID(), esimTranNo, action })
  }

  /**
   * Orders eSIMs, and waits until all have this status or the load stops.
   * @returns their numbers; none if they are not delivered in time, or were used up while there was no answer
   */
  async function order(packageCode: string, esimStatus: string): Promise<string[]> {
    const placed = await load.place([{ packageCode, count: ESIMS }])
    const deadline = performance.now() + DELIVERED_WITHIN_MS
    while (placed && !stopped) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const answer = await ask('esim/profile/list', { transactionId: placed.transactionId })
      const esims: { esimTranNo: string; esimStatus: string }[] = answer?.data?.profileList ?? []
      if (esims.length === ESIMS && esims.every((esim) => esim.esimStatus === esimStatus)) {
        return esims.map(({ esimTranNo }) => esimTranNo)
      }
      const isUndelivered = esims.length < ESIMS && performance.now() > deadline
      if (isUndelivered || esims.some((esim) => esim.esimStatus === 'USED_UP')) break
    }
    return []
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      for (const esim of await order(chance.pick(PACKAGES), 'GOT_RESOURCE')) if (!stopped) await sell(esim)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  async function suspender(): Promise<void> {
    while (!stopped) {
      for (const esim of await order(USED_PACKAGE, 'IN_USE')) if (!stopped) await act('SUSPEND', esim)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  const running = [suspender(), ...Array.from({ length: callers - 1 }, caller)]
  const suspensions = () => requested.filter(({ operation }) => operation === 'esim/suspend').length
  return {
    requested,
    async waitForSuspension() {
      const before = suspensions()
      await waitUntil(async () => suspensions() > before, SUSPENDED_WITHIN_MS)
    },
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}
