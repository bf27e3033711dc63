import type { RequestHeaders } from '@dealer-esim/contract'
import type { Admitted } from '../admission/admission.ts'
import type { Deps } from '../deps.ts'
import type { RtRequest } from './request.ts'

/** An admitted request, as the operations handle it. */
export interface RtCall extends Admitted {
  request: RtRequest
  headers: RequestHeaders
  address: string
  receivedAt: number
}

export type Handler = (deps: Deps, call: RtCall) => Promise<object>
