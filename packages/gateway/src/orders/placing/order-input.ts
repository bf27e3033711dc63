import {
  type EsimStatus,
  type OrderRequest,
  type OrderType,
  type RequestHeaders,
  type SmdpStatus,
  stripIccidPadding,
  type TopupRequest,
} from '@dealer-esim/contract'
import type { RestrictedKey, Tenant } from '#tenants/tenant.ts'
import type { PackageLine } from '../order-item.ts'
import type { HandOver } from '../traveller.ts'

/** An order to be placed. Its id is created beforehand, so that the order can be recognised after a lost COMMIT. */
export type OrderInput = NewOrderInput | TopUpInput

interface InputMembers {
  /** Without `testOffsetMs`, its time is the database's. */
  tenant: Pick<Tenant, 'tenantId' | 'currencyCode'> & Partial<Pick<Tenant, 'testOffsetMs'>>
  orderId: string
  /** The request's RequestID and timestamp; absent if the gateway itself places the order. */
  headers?: Pick<RequestHeaders, 'requestId' | 'timestamp'>
  /** When the request arrived, by `Clock.monotonic`; present together with `headers`. */
  receivedAt?: number
  /** Present if a line says how it is handed over. */
  handOver?: HandOver
  /** Present for a request of the RT API. */
  sent?: SentRequest
  /** The restricted key that signed the request; absent: the tenant's own key. */
  key?: OrderKey | undefined
}

/** An order's restricted key, as the order stores it. */
export type OrderKey = Pick<RestrictedKey, 'keyId' | 'label'>

/** The members that an RT API request sent in its own form. */
export interface SentRequest {
  /** The dealer's text, if the transactionId is derived from it. */
  transactionId?: string
  /** The address that an unsigned request came from. */
  unsignedFrom?: string
  /** A top-up without a transactionId whose final result has not been returned yet (orders/unanswered-topup.ts). */
  isUnanswered?: true
  /** The calls that have reported that such a top-up has ended. */
  answeredBy?: string[]
  /** The lines as sent, before lines with the same package were added up. */
  lines: readonly SentLine[]
}

export interface SentLine {
  /** A packageCode or a slug. */
  name: string
  /** The package that the name refers to in the current catalogue; the name itself if unknown. */
  packageCode: string
  count: number
  periodNum?: number | undefined
}

/** The restricted key that signed a request, as its order stores it; undefined: the tenant's own key. */
export function keyOf({ key }: Pick<Tenant, 'key'>): OrderKey | undefined {
  return key === null ? undefined : { keyId: key.keyId, label: key.label }
}

/** Buys eSIMs. */
export interface NewOrderInput extends InputMembers {
  orderType?: 'NEW'
  request: OrderRequest
}

/** Adds a package to one eSIM. */
export interface TopUpInput extends InputMembers {
  orderType: 'TOPUP'
  request: TopupRequest
  /** The eSIM that the ICCID identifies, if the request gives no id. Looked up before the top-up joins a batch. */
  named?: Pick<ToppedUpEsim, 'profileId'>
}

/** An eSIM that is to be topped up. */
export interface ToppedUpEsim {
  profileId: string
  /** null if the eSIM was not read and the request does not contain it. */
  iccid: string | null
  /** The code of the package that was bought. */
  packageCode: string
  supplier: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
  /** Bytes; null: unlimited. */
  totalVolume: bigint | null
  /** The open action that prevents a top-up; null: none. */
  openActionId: string | null
  /** The lines of its open top-ups; null: none. */
  openLines: PackageLine[] | null
}

interface EarlierOrder {
  orderType: OrderType
  toppedUpProfileId: string | null
  toppedUpIccid: string | null
  packageLines: PackageLine[]
}

/** Compares an order with an earlier one with the same transactionId. A top-up's ICCID matches any eSIM with that ICCID. */
export function hasSameContent(input: OrderInput, earlier: EarlierOrder): boolean {
  if (input.orderType !== 'TOPUP') {
    return earlier.orderType === 'NEW' && hasSameLines(input, input.request.packageInfoList, earlier.packageLines)
  }
  const { esimTranNo, iccid, packageCode, periodNum } = input.request
  if (earlier.toppedUpProfileId === null) return false
  if (esimTranNo !== undefined && esimTranNo.toLowerCase() !== earlier.toppedUpProfileId) return false
  if (iccid !== undefined && stripIccidPadding(iccid) !== earlier.toppedUpIccid) return false
  return hasSameLines(input, [{ packageCode, count: 1, periodNum }], earlier.packageLines)
}

function hasSameLines({ sent }: OrderInput, requested: readonly ContentLine[], earlier: readonly PackageLine[]) {
  return contentOf(sent ? asOrdered(sent.lines, earlier) : requested) === contentOf(earlier)
}

interface ContentLine {
  packageCode: string
  count: number
  periodNum?: number | undefined
  periodNumDefaulted?: true
}

/**
 * The set of (packageCode, count, periodNum as sent). The sequence of lines, prices, amount and remark do not count as
 * content.
 */
function contentOf(lines: readonly ContentLine[]): string {
  return JSON.stringify(
    lines
      .map(({ packageCode, count, periodNum, periodNumDefaulted }) => {
        return [packageCode, count, periodNumDefaulted ? undefined : periodNum] as const
      })
      .sort(byCode),
  )
}

function byCode(left: readonly [string, ...unknown[]], right: readonly [string, ...unknown[]]): number {
  return left[0] < right[0] ? -1 : 1
}

/**
 * Adds up a repeat's lines by the packages that their names referred to in the earlier order. In the current catalogue, a
 * slug may be gone or belong to another package.
 */
function asOrdered(lines: readonly SentLine[], earlier: readonly PackageLine[]): ContentLine[] {
  const merged = new Map<string, ContentLine>()
  for (const { name, packageCode, count, periodNum } of lines) {
    const line =
      earlier.find((each) => each.sentAs?.includes(name)) ??
      earlier.find((each) => each.packageCode === name) ??
      earlier.find((each) => each.packageCode === packageCode)
    const meant = line?.packageCode ?? packageCode
    const key = JSON.stringify([meant, periodNum])
    const known = merged.get(key)
    if (known) known.count += count
    else merged.set(key, { packageCode: meant, count, ...(periodNum !== undefined && { periodNum }) })
  }
  return [...merged.values()]
}

/** Adds the names with which the request identified this package, apart from its packageCode. */
export function withSentNames(line: PackageLine, lines: readonly SentLine[]): PackageLine {
  const names = lines.filter(({ packageCode, name }) => packageCode === line.packageCode && name !== packageCode)
  return names.length === 0 ? line : { ...line, sentAs: [...new Set(names.map(({ name }) => name))] }
}
