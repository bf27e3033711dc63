import type { Product } from './simulated-catalogue.ts'

/** One order of the account. */
export interface Order {
  /** The wholesaler's own number. */
  reference: string
  /** The buyer's key, if the interface has one. */
  key: string | null
  kind: Product['kind']
  product: Product
  /** eSIMs of the order; 1 for a top-up. */
  count: number
  /** Days of a daily package; otherwise 1. */
  periods: number
  /** Debited in total, in 1/10 000. */
  amount: number
  state: OrderState
  esims: Esim[]
  /** The eSIM that a top-up is added to. */
  target: Esim | null
  createdMs: number
  deliveredMs: number | null
  /** Lists and filters contain the order from this time on. */
  findableMs: number
}

/**
 * held        the money is reserved; the order may still be completed or cancelled, and lapses on its own
 * pending     debited, not yet delivered
 * delivered   its eSIMs exist, or its top-up is on the eSIM
 * failed      refused after it was accepted; the money was returned
 * cancelled   cancelled by the buyer; the money was returned
 * lapsed      held and never completed; the money was returned
 */
export type OrderState = 'held' | 'pending' | 'delivered' | 'failed' | 'cancelled' | 'lapsed'

export interface Esim {
  iccid: string
  /** The wholesaler's own number of the eSIM. ICCIDs can be reused; these numbers cannot. */
  esimNo: string
  imsi: string
  smdpAddress: string
  matchingId: string
  order: Order
  status: EsimStatus
  profile: ProfileStatus
  eid: string | null
  /** Packages on the eSIM, the first one and its top-ups. */
  plans: Plan[]
  /** Bytes used from all plans together. */
  usedBytes: number
  installedMs: number | null
  activatedMs: number | null
}

export interface Plan {
  order: Order
  product: Product
  isRevoked: boolean
  /** When it expires; null until the eSIM is first used. */
  endsMs: number | null
}

export type EsimStatus =
  | 'GOT_RESOURCE'
  | 'IN_USE'
  | 'USED_UP'
  | 'USED_EXPIRED'
  | 'UNUSED_EXPIRED'
  | 'CANCEL'
  | 'SUSPENDED'
  | 'REVOKED'
export type ProfileStatus = 'RELEASED' | 'DOWNLOAD' | 'INSTALLATION' | 'ENABLED' | 'DISABLED' | 'DELETED'

/** A change that the wholesaler sends events about. */
export type Change =
  | { kind: 'delivered' | 'failed'; order: Order }
  | { kind: 'profile' | 'status' | 'usage'; esim: Esim }

/** The account cannot do what was asked. Each interface answers in its form. */
export class Refused extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}
export type RefusalReason =
  | 'out-of-stock'
  | 'no-balance'
  | 'unknown-package'
  | 'unknown-order'
  | 'unknown-esim'
  | 'wrong-state'
  | 'repeated-key'
  | 'wrong-price'
  | 'wrong-amount'

export const DAY_MS = 24 * 3_600_000

/** Bytes of a plan; null: unlimited. */
export function planBytes({ product, order }: Plan): number | null {
  return product.volume === null ? null : product.volume * order.periods
}
