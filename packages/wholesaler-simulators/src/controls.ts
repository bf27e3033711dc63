import type { Fault, Faults } from './faults.ts'
import type { RequestLog, RequestRecord } from './requests.ts'
import type { Account, AccountCounters } from './simulated-account.ts'
import type { Clock } from './simulated-clock.ts'
import type { EventRecord, Events } from './simulated-events.ts'
import type { Esim, EsimStatus, Order, ProfileStatus } from './simulated-order.ts'
import type { Answer, RawRequest } from './wholesaler.ts'

/** Functions for tests to read and change a simulator. Arguments and results are JSON, so that HTTP can carry them. */
export interface Controls {
  /** @throws Error if the fault has an unknown kind or member */
  addFault(fault: Fault): void
  clearFaults(): void
  /** In 1/10 000 of the account's currency. */
  setBalance(balance: number): void
  /** The URL that events are sent to; null: none are sent. */
  setEventsUrl(url: string | null): void
  /** Changes a package: `price` in 1/10 000; not in stock: orders are refused; not listed: unknown. @throws if unknown */
  changeProduct(change: { code: string; price?: number; inStock?: boolean; isListed?: boolean }): void
  /** Changes an eSIM as its use would, with events. `usedBytes` is the total. @throws if unknown */
  changeEsim(change: {
    iccid: string
    status?: EsimStatus
    profile?: ProfileStatus
    eid?: string
    usedBytes?: number
  }): void
  /** Delivers an order that is pending now. @throws if unknown */
  deliver(reference: string): void
  /** Moves the simulator's clock forward: everything due by then happens immediately. */
  advanceClock(ms: number): void
  counters(): Counters
  /** Every request, the oldest first. */
  requests(): RequestRecord[]
  /** Every event, the oldest first. */
  events(): EventRecord[]
  orders(): OrderRecord[]
  esims(): EsimRecord[]
  /** Forgets requests, events and counters. Orders, eSIMs, balance and faults are kept. */
  resetRecords(): void
}

export interface Counters extends AccountCounters {
  /** In 1/10 000. */
  balance: number
  requests: number
  requestsByOperation: Record<string, number>
  /** The most requests in any sliding second. */
  requestsInBusiestSecond: number
}

export interface OrderRecord extends Omit<Order, 'product' | 'esims' | 'target'> {
  productCode: string
  /** The eSIMs it delivered, or the eSIM it topped up. */
  iccids: string[]
}

export interface EsimRecord extends Omit<Esim, 'order' | 'plans'> {
  reference: string
  key: string | null
  /** Codes of its packages, including top-ups. */
  productCodes: string[]
}

export interface ControlDeps {
  account: Account
  clock: Clock
  faults: Faults
  requests: RequestLog
  events: Events
}

export function createControls({ account, clock, faults, requests, events }: ControlDeps): Controls {
  return {
    addFault: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    setBalance: (balance) => {
      account.balance = balance
    },
    setEventsUrl: (url) => {
      events.url = url
    },
    changeProduct({ code, ...change }) {
      const product = account.products.get(code)
      if (!product) throw new Error(`There is no package ${code}.`)
      Object.assign(product, change)
    },
    changeEsim: ({ iccid, ...change }) => account.change(account.getEsim(iccid), change),
    deliver: (reference) => account.deliver(account.getOrder(reference)),
    advanceClock: (ms) => clock.advance(ms),
    counters: () => ({
      ...account.counters,
      balance: account.balance,
      requests: requests.records.length,
      requestsByOperation: requests.countByOperation(),
      requestsInBusiestSecond: requests.busiestSecond(),
    }),
    requests: () => requests.records,
    events: () => events.records,
    orders: () => [...account.orders.values()].map(orderRecord),
    esims: () => account.esims.map(esimRecord),
    resetRecords() {
      requests.records = []
      events.records = []
      account.resetCounters()
    },
  }
}

function orderRecord({ product, esims, target, ...order }: Order): OrderRecord {
  return { ...order, productCode: product.code, iccids: (target ? [target] : esims).map(({ iccid }) => iccid) }
}

function esimRecord({ order, plans, ...esim }: Esim): EsimRecord {
  const productCodes = plans.map(({ product }) => product.code)
  return { ...esim, reference: order.reference, key: order.key, productCodes }
}

/** Answers `POST /_control {"call": "addFault", "with": {…}}` with `{"result": …}`, or 400 with `{"error": "…"}`. */
export function answerControl(controls: Controls, { method, headers, raw }: RawRequest): Answer {
  // A page in a browser cannot send this content type to another origin without a preflight request.
  if (method !== 'POST' || !headers['content-type']?.startsWith('application/json'))
    return { status: 400, body: { error: 'Controls are called by POST with application/json.' } }
  try {
    const { call, with: argument } = JSON.parse(raw.toString()) as { call: string; with?: unknown }
    if (!Object.hasOwn(controls, call)) throw new Error(`There is no control ${call}.`)
    const result = (controls[call as keyof Controls] as (argument: unknown) => unknown)(argument)
    return { status: 200, body: { result: result ?? null } }
  } catch (error) {
    return { status: 400, body: { error: error instanceof Error ? error.message : String(error) } }
  }
}

/** The same controls over HTTP, for a simulator in another process. */
export type RemoteControls = {
  [Name in keyof Controls]: (...args: Parameters<Controls[Name]>) => Promise<ReturnType<Controls[Name]>>
}

/** @param url `controlUrl` of the simulator */
export function connectControls(url: string): RemoteControls {
  const call = async (name: string, argument: unknown) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ call: name, with: argument }) })
    const { result, error } = (await response.json()) as { result: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return result
  }
  const get = (_: unknown, name: string) =>
    // Has no member `then`, or `await` would treat the object as a promise.
    name === 'then' ? undefined : (argument: unknown) => call(name, argument)
  return new Proxy({}, { get }) as RemoteControls
}
