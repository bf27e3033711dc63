import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'

export const SUPPLIER_TYPES = ['sandbox', 'stock', 'es2plus', 'gateway'] as const
export type SupplierType = (typeof SUPPLIER_TYPES)[number]

/**
 * Where eSIMs come from. Every kind passes one conformance suite (test/suppliers/conformance.test.ts). Fulfilment commits an
 * attempt before it calls, and records what came back as data: a supplier decides that in one pure function.
 *
 * A method answers each request by itself, in their order, and never throws for what a network or a supplier does: that
 * is an outcome. What it throws all the same counts as `unknown`.
 */
export interface Supplier {
  readonly name: string
  readonly type: SupplierType
  readonly traits: SupplierTraits
  /** Buys one eSIM for each request. A request's key is new to the supplier, or its earlier use ended in `retry`. */
  order(requests: SupplierRequest[]): Promise<Outcome[]>
  /**
   * Asks what became of an earlier order of the same key. `retry` says that nothing was bought; a supplier that cannot
   * tell says `unknown`.
   *
   *   RESUME  the item is still wanted: an order that stopped half-way may go on, and be repeated where a repeat cannot
   *           buy a second eSIM
   *   LOOK    the item is settled without its eSIM: nothing may be bought any more. What exists all the same is told
   *           as delivered; what is reserved may be given back at once
   */
  query(requests: SupplierRequest[], purpose: QueryPurpose): Promise<Outcome[]>
  /** Takes back an eSIM that was not installed. */
  cancel(esim: SuppliedEsim): Promise<CancelOutcome>
  /** undefined: it works. Otherwise what is wrong, in a sentence for an operator. */
  test(): Promise<string | undefined>
  /** Status and usage of eSIMs, in their order; a request for each. */
  report?(esims: SuppliedEsim[]): Promise<ReportOutcome[]>
  /** What the supplier has on its books for us, in any order, page by page: reconciliation compares it with ours. */
  list?(since: Date): AsyncIterable<SupplierRecord>
  /** Who may deliver notices in its name: fingerprints of client certificates, addresses and blocks. */
  readonly eventSenders?: { certificates: readonly string[]; addresses: readonly string[] }
  /** Verifies an event of this supplier and says what it tells. */
  receive?(event: { headers: Record<string, string | string[] | undefined>; body: Buffer }): Promise<ReceivedEvent>
  /** Called every minute, where its books are ours and want looking after. true: there may be more to do. */
  tidy?(): Promise<boolean>
  stop?(): Promise<void>
}

export type QueryPurpose = 'RESUME' | 'CHECK'

/** What an event from a supplier leads to. */
export type ReceivedEvent =
  /** Not genuine: answered by a refusal. */
  | { kind: 'refused'; message: string }
  /** The orders of these keys, or their eSIMs, have changed: ask for them. */
  | { kind: 'changed'; keys: string[] }

export interface SupplierTraits {
  /** Requests of one call. */
  batch: number
  /** Requests under way at once, on this node. */
  concurrency: number
  /** Requests a second, on this node; null: no limit. */
  perSecond: number | null
  /** Fulfilment waits this long for a call; what has not come by then is unknown. */
  timeoutMs: number
  /** How long after our time-out a call may still be at work at the supplier: until then no refusal is believed. */
  graceMs: number
  /** From the first call for an eSIM: what is not decided by then goes to review. */
  giveUpAfterMs: number
  /** A query may go on with a purchase, so that one without an answer leaves as much doubt as an order. */
  queryBuys?: true
  /** Keeps requests for different products in different calls where one takes longer; undefined: never needed. */
  groupOf?(productCode: string): string
}

export interface SupplierRequest {
  tenantId: string
  orderId: string
  itemNo: number
  /** orderNo-itemNo: the same for every attempt at this item, unique for ever. */
  key: string
  productCode: string
  /** Of a purchase whose package allows no loss, where the cost is known in the currency of the sale. */
  guard?: PriceGuard | undefined
}

/** In 1/10 000. A supplier that can be told a price buys by it; one that has none of its own passes it over. */
export interface PriceGuard {
  /** As the catalogue has it. */
  cost: bigint
  /** The sale price: dearer, and it is refused. */
  salePrice: bigint
  currencyCode: string
}

/** What a supplier says that one eSIM costs us, in 1/10 000 of the currency that it names. */
export interface Charge {
  amount: bigint
  currencyCode: string
}

/** What became of one request. */
export type Outcome =
  | { kind: 'delivered'; esim: DeliveredEsim }
  /** Definite: this supplier has not sold this eSIM and will not. `price`: the supplier's price, where it is the reason. */
  | { kind: 'refused'; message: string; price?: Charge }
  /** Definite: nothing was bought, a later try may succeed. */
  | { kind: 'retry'; message: string; afterMs?: number; down?: true }
  /**
   * It may have been bought. `down`: the supplier as a whole seems away, which counts for its breaker. `charged`: what it
   * has taken for what it has not delivered yet.
   */
  | { kind: 'unknown'; message: string; down?: true; charged?: Charge | undefined }

/** Codes in the clear: they are encrypted before they are stored, and never logged. */
export interface DeliveredEsim {
  iccid: string
  smdpAddress: string
  matchingId: string
  /** Only where it is more than smdpAddress and matchingId say. */
  ac?: string
  confirmationCode?: string
  pin?: string
  puk?: string
  imsi?: string
  msisdn?: string
  eid?: string
  apn?: string
  esimStatus?: EsimStatus
  smdpStatus?: SmdpStatus
  installBefore?: Date
  /** Where the supplier says it. */
  charged?: Charge | undefined
}

/** An eSIM that was delivered, as its supplier knows it. */
export interface SuppliedEsim {
  tenantId: string
  orderId: string
  itemNo: number
  key: string
  productCode: string
  iccid: string
  matchingId: string
  /** Whether its tenant ever saw it: one that was not seen is surely unused. */
  shown: boolean
}

export type CancelOutcome =
  | { kind: 'cancelled' }
  /** Definite: it stays as it is. */
  | { kind: 'refused'; message: string }
  | { kind: 'unknown'; message: string }

export type ReportOutcome =
  | { kind: 'reported'; report: ProfileReport }
  /** It says nothing of this eSIM. `down`: the supplier as a whole seems away. */
  | { kind: 'silent'; down?: true }

export interface ProfileReport {
  /** When it became so, by the supplier's clock. */
  time: Date
  smdpStatus?: SmdpStatus
  esimStatus?: EsimStatus
  eid?: string
  /** Bytes. */
  usage?: bigint
  activateTime?: Date
  expiredTime?: Date
}

export interface SupplierRecord {
  key: string
  iccid: string
  cancelled: boolean
  time: Date
}

/** What a supplier's secrets are bound to when they are encrypted. */
export function supplierOwner(name: string): string {
  return `supplier:${name}`
}
