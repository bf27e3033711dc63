import type { RequestHeaders } from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import type { Awaited } from '#orders/end-watch.ts'
import type { Admitted } from '#tenants/admission/admission.ts'
import type { OrderTrace } from '../request-log.ts'
import type { RtRequest } from './rt-request.ts'

/** An admitted request, as the operations handle it. */
export interface RtCall extends Admitted {
  request: RtRequest
  headers: RequestHeaders
  address: string
  receivedAt: number
  /** The address that sent an unsigned request; absent if the request was signed. */
  unsignedFrom?: string
  /** Puts the span of this request into the trace of the order that it placed, or on whose eSIM it began an action. */
  traceWith(order: OrderTrace): void
  /** Calls `undo` if the connection breaks before the answer is sent. A failure is logged. */
  onLostAnswer(undo: () => Promise<void>): void
  /**
   * Waits until the order or action has ended, for at most ten seconds. From then on the request no longer counts as load.
   * @throws RtFailure 900001 if it is still open
   */
  waitForEnd(awaited: Awaited): Promise<Ended>
}

export type Ended = 'DONE' | 'REFUSED' | 'DELIVERED' | 'PARTIALLY_DELIVERED' | 'FAILED' | 'CANCELLED'

export type Handler = (deps: Deps, call: RtCall) => Promise<object>
