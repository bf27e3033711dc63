import type { EsimStatus, OrderRequest, RequestHeaders, SmdpStatus, TopupRequest } from '@dealer-esim/contract'
import type { Tenant } from '../../tenants/tenant.ts'
import type { PackageLine } from '../item.ts'

/** An order to be placed. Its id is made beforehand, so that the order is recognised after a lost COMMIT. */
export type OrderInput = NewOrderInput | TopUpInput

interface InputMembers {
  tenant: Pick<Tenant, 'tenantId' | 'currencyCode'>
  orderId: string
  /** The request's RequestID and timestamp; absent where the gateway itself places it. */
  headers?: Pick<RequestHeaders, 'requestId' | 'timestamp'>
  /** When the request arrived, by `Clock.monotonic`; present together with `headers`. */
  receivedAt?: number
  /** Present while the request is still being admitted; resolves within 100 ms to whether it was. */
  isAdmitted?: Promise<boolean>
  /** Present for a request of the compatible API. */
  sent?: SentRequest
}

/** What a request of the compatible API sent in its own form. */
export interface SentRequest {
  /** The dealer's text, where the transactionId is derived from it. */
  transactionId?: string
  /** The address of a request without a signature. */
  unsignedFrom?: string
  /** A top-up without a transactionId, until its end is answered (orders/unanswered-topup.ts). */
  isUnanswered?: true
  /** Before they were added up. */
  lines: readonly SentLine[]
}

export interface SentLine {
  /** A packageCode or a slug. */
  name: string
  /** What it means in today's catalogue; the name itself where it is unknown. */
  packageCode: string
  count: number
  periodNum?: number | undefined
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
  /** Present if it arrived while a batch ran. */
  readAhead?: EsimReadAhead
}

/** An eSIM that is to be topped up. */
export interface ToppedUpEsim {
  profileId: string
  iccid: string
  /** The package that it was bought as. */
  packageCode: string
  supplier: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
  /** Bytes; null: unlimited. */
  totalVolume: bigint | null
  /** The action that is in the way; null: none. */
  openActionId: string | null
  /** The lines of its open top-ups; null: none. */
  openLines: PackageLine[] | null
}

/** An eSIM that is read while its wallet may be in use. */
export interface EsimReadAhead {
  /** undefined: no such eSIM, or it could not be read. */
  esim: Promise<ToppedUpEsim | undefined>
  /** A hash that the wallet's row had before the eSIM was read. */
  walletHash: string
}
