import { randomUUID } from 'node:crypto'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'

/** One requested order and all answers to its caller. */
export interface RequestedOrder {
  transactionId: string
  packageInfoList: { packageCode: string; count: number }[]
  answers: Answer[]
  /** The time until each answer, or until the connection ended. */
  durationsMs: number[]
}

export interface OrderLoad {
  readonly requested: RequestedOrder[]
  /** Requests that were sent and have been neither answered nor lost. */
  readonly inFlight: number
  /** Orders answered 000000 so far. */
  readonly acknowledged: number
  /** Places an order as an additional caller, once there is a target. @returns the order if it was acknowledged */
  place(packageInfoList: RequestedOrder['packageInfoList']): Promise<RequestedOrder | undefined>
  /** The target, once there is one; undefined if the load has stopped without one. */
  findTarget(): Promise<{ baseUrl: string } | undefined>
  /** Resolves when this many more orders have been acknowledged. */
  waitForMore(count: number): Promise<void>
  /** Resolves immediately if a request is in flight, otherwise when the next one is sent. */
  waitForRequest(): Promise<void>
  /** The target for the next requests; undefined: callers wait. */
  sendTo(at: { baseUrl: string } | undefined): void
  /** Callers finish their requests and stop. */
  stop(): Promise<void>
}

/**
 * Ten times the response time promised to dealers. No answer takes this long on a busy machine: it only shows a caller who is
 * never answered.
 */
export const ANSWER_GUARD_MS = 100_000
/** The pause after a refusal or a lost connection, as a considerate client would make it. */
const PAUSE_MS = 100
/** The pause between orders, so that there are no more of them than the test needs. */
const THINK_MS = 50

/** Signed callers that place one order after another and never repeat one. */
export function startOrderLoad(
  dealer: Dealer,
  callers: number,
  choose: () => RequestedOrder['packageInfoList'],
): OrderLoad {
  const requested: RequestedOrder[] = []
  const sending: (() => void)[] = []
  const waiting = new Set<{ at: number; resolve(): void }>()
  let inFlight = 0
  let acknowledged = 0
  let stopped = false
  let open = () => {}
  let target: Promise<{ baseUrl: string } | undefined> = new Promise((resolve) => {
    open = () => resolve(undefined)
  })

  /** @returns the order if it was acknowledged */
  async function placeOrder(
    at: { baseUrl: string },
    packageInfoList: RequestedOrder['packageInfoList'],
  ): Promise<RequestedOrder | undefined> {
    const order: RequestedOrder = { transactionId: randomUUID(), packageInfoList, answers: [], durationsMs: [] }
    requested.push(order)
    const { transactionId } = order
    const body = JSON.stringify({ transactionId, packageInfoList })
    const startedAt = performance.now()
    let isPlaced = false
    inFlight++
    try {
      const answering = call(at, dealer, 'esim/order', { body })
      for (const resolve of sending.splice(0)) resolve()
      const answer = await answering
      order.answers.push(answer)
      isPlaced = answer.code === '000000'
      if (isPlaced) acknowledged++
    } catch {
      // The connection was lost; the test finds out whether the order exists.
    } finally {
      inFlight--
      order.durationsMs.push(performance.now() - startedAt)
    }
    for (const waiter of waiting) {
      if (acknowledged < waiter.at) continue
      waiting.delete(waiter)
      waiter.resolve()
    }
    return isPlaced ? order : undefined
  }

  async function findTarget(): Promise<{ baseUrl: string } | undefined> {
    let at = await target
    while (!at && !stopped) at = await target
    return at
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      const at = await target
      if (!at) continue
      const pauseMs = (await placeOrder(at, choose())) ? THINK_MS : PAUSE_MS
      if (!stopped) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  const running = Array.from({ length: callers }, caller)
  return {
    requested,
    get inFlight() {
      return inFlight
    },
    get acknowledged() {
      return acknowledged
    },
    async place(packageInfoList) {
      const at = await findTarget()
      return at && placeOrder(at, packageInfoList)
    },
    findTarget,
    waitForMore: (count) => new Promise((resolve) => waiting.add({ at: acknowledged + count, resolve })),
    waitForRequest: () => (inFlight > 0 ? Promise.resolve() : new Promise((resolve) => sending.push(resolve))),
    sendTo(at) {
      const release = open
      if (at) {
        target = Promise.resolve(at)
        open = () => {}
      } else {
        target = new Promise((resolve) => {
          open = () => resolve(undefined)
        })
      }
      release()
    },
    async stop() {
      stopped = true
      open()
      await Promise.all(running)
    },
  }
}
