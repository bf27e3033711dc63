import { randomUUID } from 'node:crypto'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'
import type { OrderLoad } from './order-load.ts'
import type { seededRandom } from './seeded-random.ts'

/** One top-up or cancel, and the answer to its caller; undefined: the connection was lost. */
export interface RequestedSale {
  operation: 'esim/topup' | 'esim/cancel'
  body: { transactionId: string; esimTranNo: string }
  answer: Answer | undefined
}

export interface AfterSaleLoad {
  readonly requested: RequestedSale[]
  /** Callers finish their requests and stop. The orders' load goes on until then. */
  stop(): Promise<void>
}

/** Their actions are done for a fee, refused, or never answered. */
const PACKAGES = ['SANDBOX_CANCEL_FEE', 'SANDBOX_CANCEL_FEE', 'SANDBOX_ACTION_REFUSED', 'SANDBOX_ACTION_UNKNOWN']
const TOP_UPS = ['SANDBOX_TOPUP', 'SANDBOX_TOPUP', 'SANDBOX_TOPUP_REFUSED']
const ESIMS = 4
const PAUSE_MS = 100

/**
 * Callers that order eSIMs, and then top each up, cancel it, or do both at the same moment. They never repeat a request:
 * the test finds out what became of it.
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
    const cancel = () => {
      const body = { transactionId: randomUUID(), esimTranNo, action: 'CANCEL' }
      return request('esim/cancel', body)
    }
    const plans = [topUp, cancel, () => Promise.all([topUp(), cancel()]), () => Promise.all([cancel(), topUp()])]
    return chance.pick(plans)()
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      const order = await load.place([{ packageCode: chance.pick(PACKAGES), count: ESIMS }])
      let esims: { esimTranNo: string }[] = []
      while (order && !stopped && esims.length < ESIMS) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        const answer = await ask('esim/profile/list', { transactionId: order.transactionId })
        esims = answer?.data?.profileList ?? []
      }
      for (const { esimTranNo } of esims) if (!stopped) await sell(esimTranNo)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  const running = Array.from({ length: callers }, caller)
  return {
    requested,
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}
