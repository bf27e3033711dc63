import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'

/** A dealer whose callers place one order or top-up after another, and repeat some of the acknowledged orders. */
export interface DealerLoad {
  dealer: Dealer
  /** In order of acknowledgement, by caller. */
  readonly acknowledged: readonly AcknowledgedOrder[][]
  readonly sums: Readonly<Sums>
  /** Answers that a dealer does not expect. */
  readonly faults: string[]
  /**
   * Resolves when this many more orders have been acknowledged.
   * @throws Error if that takes longer than on any busy machine
   */
  waitForMore(orders: number): Promise<void>
  /** The longest time, since the last call, between an order's first refusal and its acknowledgement, in ms. */
  takeLongestRefusal(): number
  /** The 99th percentile of the response times since the last call, in ms. */
  takeP99(): number
  stop(): Promise<void>
}

interface Sums {
  acknowledged: number
  replayed: number
  /**
   * Counts answers 000001 and 000002, and connections closed without an answer more often in a row than there are idle
   * ones.
   */
  refused: number
  /** Connections closed without an answer: a reloading load balancer closes idle ones, even while they are being used. */
  reconnected: number
}

interface AcknowledgedOrder {
  transactionId: string
  orderNo: string
  isTopUp: boolean
}

const CALLERS = 3
/** The callers of all dealers share their connections. When the load balancer is reloaded, it closes the idle ones. */
const IDLE_CONNECTIONS_MAX = 4 * CALLERS
const THINK_MS = 80
const RETRY_MS = 50
/** The number of orders per top-up, and per repeat of an acknowledged order. */
const TOP_UP_EACH = 6
const REPLAY_EACH = 4

/** Answers that make a dealer repeat the order with the same transactionId. */
const REPEATED: ReadonlySet<string> = new Set(['000001', '000002'])
/** No cell serves the dealer any more: many times as long as a move on a busy machine. */
const UNSERVED_MAX_MS = 90_000

/** @param esimTranNo an eSIM of the dealer that is topped up */
export function startDealerLoad(at: { baseUrl: string }, dealer: Dealer, esimTranNo: string): DealerLoad {
  const acknowledged: AcknowledgedOrder[][] = Array.from({ length: CALLERS }, () => [])
  const faults: string[] = []
  let durationsMs: number[] = []
  const sums: Sums = { acknowledged: 0, replayed: 0, refused: 0, reconnected: 0 }
  let longestRefusalMs = 0
  let isStopped = false

  /**
   * Sends it until it is acknowledged, each time with a new RequestID.
   * @returns undefined if the load was stopped, or on a fault
   */
  async function send(operation: string, body: object): Promise<Answer | undefined> {
    let refusedAt: number | undefined
    let reconnections = 0
    for (;;) {
      const startedAt = performance.now()
      const answer = await call(at, dealer, operation, { body: JSON.stringify(body) }).catch(() => undefined)
      const now = performance.now()
      if (refusedAt !== undefined) longestRefusalMs = Math.max(longestRefusalMs, now - refusedAt)
      if (answer?.code === '000000') {
        durationsMs.push(now - startedAt)
        return answer
      }
      if (answer !== undefined && !REPEATED.has(answer.code)) {
        faults.push(`${operation} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
        return undefined
      }
      refusedAt ??= startedAt
      if (answer === undefined && reconnections < IDLE_CONNECTIONS_MAX) {
        reconnections++
        sums.reconnected++
        continue
      }
      reconnections = 0
      sums.refused++
      await delay(RETRY_MS)
    }
  }

  async function order(own: AcknowledgedOrder[], isTopUp: boolean): Promise<void> {
    const transactionId = randomUUID()
    const answer = isTopUp
      ? await send('esim/topup', { transactionId, esimTranNo, packageCode: 'SANDBOX_TOPUP' })
      : await send('esim/order', { transactionId, packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
    if (answer === undefined) return
    own.push({ transactionId, orderNo: answer.data.orderNo, isTopUp })
    sums.acknowledged++
  }

  async function replay({ transactionId, orderNo }: AcknowledgedOrder): Promise<void> {
    const packageInfoList = [{ packageCode: 'SANDBOX_OK', count: 1 }]
    const answer = await send('esim/order', { transactionId, packageInfoList })
    if (answer === undefined) return
    const isReplay = answer.data.orderNo === orderNo && answer.headers['idempotent-replayed'] === 'true'
    if (!isReplay) faults.push(`${transactionId} was placed again: ${answer.text}`)
    sums.replayed++
  }

  const callers = acknowledged.map(async (own) => {
    for (let turn = 1; !isStopped; turn++) {
      await order(own, turn % TOP_UP_EACH === 0)
      // One top-up from before the last switch, and a new one.
      const earlier = own.filter(({ isTopUp }) => !isTopUp)
      if (turn % REPLAY_EACH === 0) await replay(earlier[(turn * turn) % earlier.length]!)
      await delay(THINK_MS)
    }
  })
  return {
    dealer,
    acknowledged,
    faults,
    sums,
    async waitForMore(orders) {
      const wanted = sums.acknowledged + orders
      for (const since = performance.now(); sums.acknowledged < wanted && faults.length === 0; ) {
        if (performance.now() - since > UNSERVED_MAX_MS) throw new Error('no cell serves the dealer')
        await delay(10)
      }
    },
    takeLongestRefusal() {
      const longest = Math.round(longestRefusalMs)
      longestRefusalMs = 0
      return longest
    },
    takeP99() {
      const sorted = durationsMs.sort((left, right) => left - right)
      durationsMs = []
      return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)
    },
    async stop() {
      isStopped = true
      await Promise.all(callers)
    },
  }
}
