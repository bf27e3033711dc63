import type { EsimStatus, SmdpStatus, TestOutcome } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/**
 * A source of eSIMs. Every type passes one conformance suite (test/suppliers/conformance.test.ts). Fulfilment commits an
 * attempt before the call and saves the outcome as data; each supplier decides outcomes in one pure function.
 *
 * A method returns one result for each request, in the order of the requests. Failures of the network or the supplier are
 * outcomes, never exceptions. An exception counts as `unknown`.
 */
export interface Supplier {
  readonly name: string
  /** The type of supplier, see create.ts. */
  readonly type: string
  readonly traits: SupplierTraits
  /** Buys one eSIM for each request. Its key is new to the supplier, or an earlier order with it ended in `retry`. */
  order(requests: SupplierRequest[]): Promise<Outcome[]>
  /**
   * Queries the outcome of an earlier order with the same key. `retry` means that nothing was bought; a supplier that
   * does not know returns `unknown`.
   *
   *   RESUME  the item is still wanted: an order that stopped half-way may continue, and may be repeated if a repeat
   *           cannot buy a second eSIM
   *   CHECK   the item was resolved without its eSIM, so nothing more may be bought. An eSIM that exists anyway is
   *           returned as delivered; a reservation may be cancelled immediately
   */
  query(requests: SupplierRequest[], purpose: QueryPurpose): Promise<Outcome[]>
  /**
   * Adds one package to one eSIM for each request, under the same rules as `order`. A query with its key also has `topUp`.
   * Absent if the supplier cannot do it.
   */
  topUp?(requests: TopUpRequest[]): Promise<Outcome[]>
  /**
   * The top-ups that an eSIM accepts now, as the supplier lists them. undefined if it gave no list. Absent if it has no such
   * list.
   */
  topUpsOf?(esim: Pick<SuppliedEsim, 'iccid'>): Promise<ListedTopUps | undefined>
  /**
   * Cancels an eSIM that was not installed. `actionKey` identifies the attempt at the supplier, as `key` identifies an
   * order: a repeat with the same one changes nothing. Without it, the eSIM is one that no dealer has, and is cancelled
   * only once.
   */
  cancel(esim: SuppliedEsim, actionKey?: string): Promise<CancelOutcome>
  /** Interrupts the service of an eSIM in use. A repeat changes nothing. Absent if the supplier cannot do it. */
  suspend?(esim: SuppliedEsim, actionKey: string): Promise<ActionOutcome>
  /** Resumes the service of a suspended eSIM. */
  unsuspend?(esim: SuppliedEsim, actionKey: string): Promise<ActionOutcome>
  /** Ends the service of an eSIM permanently. */
  revoke?(esim: SuppliedEsim, actionKey: string): Promise<ActionOutcome>
  /** Sends an SMS to an eSIM. A repeat is a second SMS: no interface takes a key for it. Absent: the supplier sends none. */
  sendSms?(esim: SuppliedEsim, message: string): Promise<ActionOutcome>
  /** undefined: it works. Otherwise a message for the operator. */
  test(): Promise<string | undefined>
  /** Status and usage of eSIMs, in the given order, with one request for each. */
  report?(esims: SuppliedEsim[]): Promise<ReportOutcome[]>
  /**
   * The supplier's records of our eSIMs, in any order, and the entries that cannot be read. Reconciliation compares them with
   * ours.
   */
  list?(since: Date): AsyncIterable<SupplierRecord | UnreadableEntry>
  /**
   * The products that it sells, in any order, and the entries that cannot be read. Ends with an exception if the list cannot be
   * read to its end.
   */
  catalogue?(): AsyncIterable<SupplierProduct | UnreadableEntry>
  /** The operator's balance at the supplier. */
  balance?(): Promise<BalanceOutcome>
  /** The allowed senders of events for this supplier: fingerprints of client certificates, addresses and blocks. */
  readonly eventSenders?: {
    certificates: readonly string[]
    addresses: readonly string[]
    /** These senders also report the points 100 to 102 (es2plus/notification.ts). */
    extraPoints?: boolean
  }
  /**
   * Anybody can send events in this supplier's name: they are not signed, and no sender addresses are configured. They only
   * cause questions.
   */
  readonly eventsUnproven?: boolean
  /** Verifies an event from this supplier and decodes it. `address`: the caller's, if it is known. */
  receive?(event: {
    headers: Record<string, string | string[] | undefined>
    body: Buffer
    address?: string | undefined
  }): Promise<ReceivedEvent>
  /** Only the built-in sandbox: what test operations need. Without it, no test operation changes the supplier's eSIMs. */
  readonly testing?: SupplierTesting
  /** Called every minute for suppliers whose records we maintain. @returns whether there may be more to do */
  tidy?(): Promise<boolean>
  stop?(): Promise<void>
}

export interface SupplierTesting {
  /** Decides requests that it left open, for good: calls in progress get the same outcome. @returns the outcome of each */
  settle(requests: SupplierRequest[], outcome: TestOutcome): Promise<Outcome[]>
  /**
   * What it will report on eSIMs if nothing else happens to them; undefined for those that it does not report on. Reads in the
   * transaction. @param thresholds percentages of the volume at which a report says something new
   */
  foreseeReports(
    tx: Pick<Tx, 'query'>,
    esims: SuppliedEsim[],
    thresholds: readonly number[],
  ): Promise<(ForeseenReports | undefined)[]>
}

export interface ForeseenReports {
  /** When a report says something new, in order of time. */
  moments: readonly Date[]
  reportAt(moment: Date): ProfileReport | undefined
}

export type QueryPurpose = 'RESUME' | 'CHECK'

/** The meaning of an event from a supplier. */
export type ReceivedEvent =
  /** The event is not authentic. */
  | { kind: 'refused'; message: string }
  /** The orders of these keys, or their eSIMs, have changed: query them. `reports`: figures that the event itself proves. */
  | { kind: 'changed'; keys: string[]; reports?: { iccid: string; report: ProfileReport }[] }

export interface SupplierTraits {
  /** Maximum number of requests in one call. */
  batch: number
  /** Concurrent requests on this node. */
  concurrency: number
  /** Requests per second on this node; null: no limit. */
  perSecond: number | null
  /** Fulfilment waits this long for a call; after that its outcome is unknown. */
  timeoutMs: number
  /** How long after our time-out the supplier may still execute a call. Until then fulfilment does not trust a refusal. */
  graceMs: number
  /** An item that is undecided this long after the first call for its eSIM goes to review. */
  giveUpAfterMs: number
  /** How often a new eSIM is polled for status and usage; by default every 15 minutes. */
  pollEveryS?: number
  /** Only eSIMs whose codes nobody has seen can be cancelled, so every cancellation by a dealer is refused. */
  cancelsUnseenOnly?: true
  /** The supplier also tops up eSIMs whose validity has ended. */
  topsUpExpired?: true
  /**
   * A query may find a purchase only after some time, so fulfilment repeats one that finds nothing as long as the item is in
   * doubt.
   */
  findsLate?: true
  /** A query may continue a purchase, so an unanswered query leaves as much doubt as an order. */
  queryBuys?: true
  /** eSIMs are not polled: a report comes only when a person or an event asks for it. */
  reportsOnRequest?: true
  /** Says for which products `report` knows the eSIMs; absent: for all. eSIMs of other products are never polled. */
  reportsProduct?(productCode: string): boolean
  /**
   * Groups products, because some may take longer than others: all requests of a call belong to one group. Absent if there
   * is one group.
   */
  groupOf?(productCode: string): string
}

export interface SupplierRequest {
  tenantId: string
  orderId: string
  itemNo: number
  /** orderNo-itemNo: unique, and the same for every attempt at this item. */
  key: string
  productCode: string
  /** The supplier's own name for an earlier purchase with this key, if it gave one. Only `query` receives it. */
  reference?: string | undefined
  /** Days of a day pass. */
  periodNum?: number | undefined
  /** The eSIM to top up; undefined: buy a new one. */
  topUp?: ToppedUpEsim | undefined
  /** Set if the package must not be sold at a loss and its cost is known in the currency of the sale. */
  guard?: PriceGuard | undefined
}

/** A request to add a package to an eSIM. */
export type TopUpRequest = SupplierRequest & { topUp: ToppedUpEsim }

/** An eSIM to be topped up, with the data by which its supplier finds it. */
export interface ToppedUpEsim {
  /** The key of the item that delivered it. */
  key: string
  /** The supplier's own name for the purchase that delivered it, if it gave one. */
  reference?: string | undefined
  iccid: string
  matchingId: string
}

/**
 * The prices between which a supplier may sell, in 1/10 000, for one eSIM (for a day pass: per day). Only suppliers whose
 * interface accepts a price apply it.
 */
export interface PriceGuard {
  /** The cost in the catalogue. */
  cost: bigint
  /** The purchase is refused if it costs more than this. */
  salePrice: bigint
  currencyCode: string
}

/** The supplier's stated price for one eSIM, in 1/10 000 of the currency. */
export interface Charge {
  amount: bigint
  currencyCode: string
}

/**
 * The outcome of one request. `reference`: the supplier's own name for the purchase, such as an order number. It is kept
 * with the attempt and handed back with every later call about the eSIM.
 */
export type Outcome =
  | { kind: 'delivered'; esim: DeliveredEsim; reference?: string | undefined }
  /** The package was added to the eSIM. `expiredTime`: the new end of validity, if the supplier states it. */
  | { kind: 'toppedUp'; expiredTime?: Date | undefined; charged?: Charge | undefined; reference?: string | undefined }
  /**
   * It was bought but is not delivered yet: it is queried until it is. It is reviewed only if that takes longer than
   * `giveUpAfterMs`. `charged`: the debit for it, if the supplier states it.
   */
  | { kind: 'ordered'; message: string; reference: string; charged?: Charge | undefined }
  /** Definite: this supplier has not sold this eSIM and will not. `price`: the supplier's price, where it is the reason. */
  | { kind: 'refused'; message: string; price?: Charge }
  /** Definite: nothing was bought, but a later try may succeed. `noMoney`: the operator's account there is empty. */
  | { kind: 'retry'; message: string; afterMs?: number; down?: true; noMoney?: true }
  /**
   * It may have been bought. `down`: the supplier as a whole seems to be down, which counts for its breaker. `charged`:
   * its debit for an eSIM that it has not delivered yet.
   */
  | {
      kind: 'unknown'
      message: string
      down?: true
      charged?: Charge | undefined
      reference?: string | undefined
    }

/** Unencrypted codes: they are encrypted before they are stored, and never logged. */
export interface DeliveredEsim {
  iccid: string
  smdpAddress: string
  matchingId: string
  /** Only if it has more than smdpAddress and matchingId. */
  ac?: string
  confirmationCode?: string
  pin?: string
  puk?: string
  imsi?: string
  msisdn?: string
  eid?: string
  apn?: string
  /** An https page on which the traveller proves their identity. Anybody who has it may see their data. */
  kycUrl?: string
  esimStatus?: EsimStatus
  smdpStatus?: SmdpStatus
  installBefore?: Date
  /** If the supplier states it. */
  charged?: Charge | undefined
}

/** A delivered eSIM, with the data by which its supplier finds it. */
export interface SuppliedEsim {
  tenantId: string
  orderId: string
  itemNo: number
  key: string
  productCode: string
  /** The supplier's own name for the purchase, if it gave one. */
  reference?: string | undefined
  iccid: string
  matchingId: string
  /** Its tenant has seen it. If false, it is certainly unused. */
  shown: boolean
}

export type CancelOutcome =
  | { kind: 'cancelled' }
  /** Definite: it was not cancelled. */
  | { kind: 'refused'; message: string }
  | { kind: 'unknown'; message: string }

/** The outcome of suspend, unsuspend or revoke. */
export type ActionOutcome =
  | { kind: 'done' }
  /** Definite: nothing was changed. */
  | { kind: 'refused'; message: string }
  | { kind: 'unknown'; message: string }

export type ReportOutcome = (
  | { kind: 'reported'; report: ProfileReport }
  /** No report on this eSIM. `down`: the supplier as a whole seems to be down. */
  | { kind: 'silent'; down?: true }
) & {
  /** Entries of the answer that cannot be read. The report states only what the others show. */
  unreadable?: UnreadableEntry[]
}

export interface ListedTopUps {
  productCodes: string[]
  /** Entries that cannot be read: each may be any package. */
  unreadable?: UnreadableEntry[]
}

export interface ProfileReport {
  /** When the reported state began, by the supplier's clock. */
  time: Date
  smdpStatus?: SmdpStatus
  esimStatus?: EsimStatus
  eid?: string
  /** Bytes. */
  usage?: bigint
  /** The part of the volume that is left, if the supplier does not state bytes: it only raises a known usage. */
  remainingPercent?: number
  /** Bytes that are used at least, such as those of one of several bundles: they only raise a known usage. */
  usageAtLeast?: bigint
  /** When it was installed. Absent: the supplier does not say when. */
  installationTime?: Date
  activateTime?: Date
  expiredTime?: Date
}

export interface SupplierRecord {
  key: string
  iccid: string
  cancelled: boolean
  time: Date
}

/** A product of a supplier's catalogue. */
export interface SupplierProduct {
  productCode: string
  name: string
  /** TOPUP: it can only be added to an eSIM. */
  packageType: 'BASE' | 'TOPUP'
  /** ISO 3166-1 alpha-2. Where a supplier lists only regions: `!RG-` and each name, such as `!RG-Western Europe`. */
  countries: string[]
  /** Bytes (for a day pass: per day); null: unlimited. */
  volume: bigint | null
  isDayPass: boolean
  durationDays: number
  /** In 1/10 000 (for a day pass: per day). */
  cost: bigint
  currencyCode: string
  /** The condition under which it is unlimited or fast, in the supplier's words. */
  fupPolicy?: string | null | undefined
  /** Calls and SMS besides the data: allowances.ts. */
  included?: string | null | undefined
}

/** An entry of a list that cannot be read: it is left out, and what it describes stays as it was. */
export interface UnreadableEntry {
  /** undefined if the entry does not identify a product. */
  productCode?: string | undefined
  /** The entry's code, or its place, such as `entry 17 of page 2`. */
  entry: string
  reason: string
}

export type BalanceOutcome =
  /** In 1/10 000. */
  | { kind: 'balance'; amount: bigint; currencyCode: string }
  /** No answer, or no valid one. */
  | { kind: 'silent'; message: string }

/** The owner to which encrypted secrets of a supplier are bound. */
export function supplierOwner(name: string): string {
  return `supplier:${name}`
}
