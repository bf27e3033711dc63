import type { OrderEffects } from './simulated-account.ts'

/** Network and server faults. Each happens at one step of a request: before the action, or after it. */
const BEFORE = [
  /** The connection closes and nothing was done. */
  'request-lost',
  /** HTTP 500, and nothing was done. */
  'server-error-before',
  /** The action takes place only after `delayMs`, even if the client has disconnected. */
  'slow-request',
  /** Nothing is done and nothing answered; the connection stays open for `delayMs`, or until the simulator closes. */
  'hang',
] as const
const AFTER = [
  /** The action took place, and the connection closes without an answer. */
  'answer-lost',
  /** The action took place, and the answer is HTTP 500. */
  'server-error-after',
  /** The action took place, and the answer comes `delayMs` later, or never without `delayMs`. */
  'slow-answer',
  /** The action took place, and the connection closes in the middle of the answer. */
  'answer-cut',
  /** The action took place, and the answer is HTTP 200 with an HTML page. */
  'answer-garbled',
] as const
/** Refusals in the interface's own form. Nothing was done. */
const REFUSALS = [
  'rate-limited',
  /** Busy, or under maintenance. */
  'down',
  'unauthorized',
  'out-of-stock',
  'no-balance',
  'unknown-package',
  /** With the interface's own `code`: RT error code, Airalo code, or HTTP status. */
  'refused',
] as const
const ORDERS = [
  /** The order is accepted and delivered after `delayMs`; without it, by the control `deliver`. */
  'delivered-later',
  /** The order is accepted, and fails after `delayMs`, or immediately. */
  'delivery-fails',
  /** Lists and filters contain the order only after `delayMs`. */
  'found-later',
] as const
const CATALOGUE = [
  'catalogue-empty',
  /** Only the first tenth of the packages. */
  'catalogue-short',
  'catalogue-prices-x100',
  /** Prices in JPY. */
  'catalogue-other-currency',
] as const
/** Operation `event`. */
const EVENTS = ['event-lost', 'event-twice'] as const

export const FAULT_KINDS = [...BEFORE, ...AFTER, ...REFUSALS, ...ORDERS, ...CATALOGUE, ...EVENTS] as const
export type FaultKind = (typeof FAULT_KINDS)[number]
export type RefusalFault = (typeof REFUSALS)[number]
export type CatalogueFault = (typeof CATALOGUE)[number]

export interface Fault {
  kind: FaultKind
  /** The name of an operation; see each wholesaler's table. Default: every operation. */
  operation?: string
  /** Only requests whose path or body contains this text. */
  containing?: string
  /** Skips this many matching requests first. Default 0. */
  skip?: number
  /** Applies to every nth matching request after those. Default 1. */
  every?: number
  /** Applies this many times. Default: until `clearFaults`. */
  times?: number
  delayMs?: number
  code?: string
}

const MEMBERS = ['kind', 'operation', 'containing', 'skip', 'every', 'times', 'delayMs', 'code']

/** The faults that a test has set. Several may apply to one request. */
export class Faults {
  #active: { fault: Fault; seen: number; applied: number }[] = []

  /** @throws Error if the fault has an unknown kind or member */
  add(fault: Fault): void {
    if (!FAULT_KINDS.includes(fault.kind))
      throw new Error(`There is no fault ${fault.kind}: use ${FAULT_KINDS.join(', ')}.`)
    const unknown = Object.keys(fault).find((member) => !MEMBERS.includes(member))
    if (unknown) throw new Error(`A fault has no member ${unknown}: use ${MEMBERS.join(', ')}.`)
    this.#active.push({ fault, seen: 0, applied: 0 })
  }

  clear(): void {
    this.#active = []
  }

  /** Returns the faults that apply to this request, and counts each of them as applied. */
  take(operation: string, content: string): Fault[] {
    return this.#active
      .filter(({ fault }) => (fault.operation ?? operation) === operation && content.includes(fault.containing ?? ''))
      .filter((entry) => {
        const { skip = 0, every = 1, times = Number.POSITIVE_INFINITY } = entry.fault
        entry.seen += 1
        const isDue = entry.seen > skip && (entry.seen - skip) % every === 0 && entry.applied < times
        if (isDue) entry.applied += 1
        return isDue
      })
      .map(({ fault }) => fault)
  }
}

export function isRefusal(fault: Fault): fault is Fault & { kind: RefusalFault } {
  return (REFUSALS as readonly string[]).includes(fault.kind)
}

export function isCatalogueFault(fault: Fault): fault is Fault & { kind: CatalogueFault } {
  return (CATALOGUE as readonly string[]).includes(fault.kind)
}

/** The effects of a request's faults on the order that it places. */
export function orderEffects(faults: Fault[], deliverAfterMs: number): OrderEffects {
  const effects: OrderEffects = { deliverAfterMs }
  for (const { kind, delayMs } of faults) {
    if (kind === 'delivered-later') effects.deliverAfterMs = delayMs ?? null
    if (kind === 'found-later') effects.findableAfterMs = delayMs ?? Number.MAX_SAFE_INTEGER / 4
    if (kind === 'delivery-fails') Object.assign(effects, { fails: true, deliverAfterMs: delayMs ?? 0 })
  }
  return effects
}
