import { randomUUID } from 'node:crypto'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'

/** One order that was asked for, and every answer that its caller had. */
export interface AskedOrder {
  transactionId: string
  packageInfoList: { packageCode: string; count: number }[]
  answers: Answer[]
  /** Milliseconds to each answer or to the connection's end. */
  durationsMs: number[]
}

export interface OrderLoad {
  readonly asked: AskedOrder[]
  /** Requests that were sent and neither answered nor cut off. */
  readonly inFlight: number
  /** Orders answered 000000 so far. */
  readonly acknowledged: number
  /** Resolves when that many more orders than now are acknowledged. */
  more(count: number): Promise<void>
  /** Resolves at once while a request is in flight; else with the next one that is sent. */
  underWay(): Promise<void>
  /** Where the next requests go; undefined: nowhere, callers wait. */
  aim(at: { baseUrl: string } | undefined): void
  /** Callers finish what they asked, and stop. */
  stop(): Promise<void>
}

/** After a refusal or a cut-off, as a client with manners does: a database that is away must not be shouted at. */
const PAUSE_MS = 100
/** Between orders: what is counted in the end need not be more than what the kills meet. */
const THINK_MS = 50

/** Signed callers, each of whom asks for one order after the other and never repeats one. */
export function orderLoad(dealer: Dealer, callers: number, choose: () => AskedOrder['packageInfoList']): OrderLoad {
  const asked: AskedOrder[] = []
  const sending: (() => void)[] = []
  const waiting = new Set<{ at: number; resolve(): void }>()
  let inFlight = 0
  let acknowledged = 0
  let stopped = false
  let open = () => {}
  let target: Promise<{ baseUrl: string } | undefined> = new Promise((resolve) => {
    open = () => resolve(undefined)
  })

  /** @returns whether the order was acknowledged */
  async function ask(at: { baseUrl: string }): Promise<boolean> {
    const order: AskedOrder = {
      transactionId: randomUUID(),
      packageInfoList: choose(),
      answers: [],
      durationsMs: [],
    }
    asked.push(order)
    const { transactionId, packageInfoList } = order
    const body = JSON.stringify({ transactionId, packageInfoList })
    const startedAt = performance.now()
    let isPlaced = false
    inFlight++
    try {
      const answering = call(at, dealer, 'esim/order', { body })
      for (const tell of sending.splice(0)) tell()
      const answer = await answering
      order.answers.push(answer)
      isPlaced = answer.code === '000000'
      if (isPlaced) acknowledged++
    } catch {
      // Cut off: whether the order exists is for the test to find out.
    } finally {
      inFlight--
      order.durationsMs.push(performance.now() - startedAt)
    }
    for (const waiter of waiting) {
      if (acknowledged < waiter.at) continue
      waiting.delete(waiter)
      waiter.resolve()
    }
    return isPlaced
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      const at = await target
      if (!at) continue
      const pauseMs = (await ask(at)) ? THINK_MS : PAUSE_MS
      if (!stopped) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  const running = Array.from({ length: callers }, caller)
  return {
    asked,
    get inFlight() {
      return inFlight
    },
    get acknowledged() {
      return acknowledged
    },
    more: (count) => new Promise((resolve) => waiting.add({ at: acknowledged + count, resolve })),
    underWay: () => (inFlight > 0 ? Promise.resolve() : new Promise((resolve) => sending.push(resolve))),
    aim(at) {
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
