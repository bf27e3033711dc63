import type { Code, CodeData, FailureCode } from './codes.ts'
import { codes } from './codes.ts'

/** One fault: where it is and what to do about it. `field` is a path such as `packageInfoList[0].count`, or a header. */
export interface FaultDetail {
  field: string
  reason: string
}

/** Every answer, failures included. */
export interface Envelope<D extends object = object, C extends Code = Code> {
  code: C
  message: string
  data: D
}

export type Success<D extends object> = Envelope<D, '000000'>

/** `requestId` is the caller's, or one that the gateway made where the caller's was missing or malformed. */
export type FailureData<C extends FailureCode = FailureCode> = CodeData<C> & {
  requestId: string
  details: FaultDetail[]
}
export type Failure<C extends FailureCode = FailureCode> = C extends FailureCode ? Envelope<FailureData<C>, C> : never

export function success<D extends object>(data: D): Success<D> {
  return { code: '000000', message: codes['000000'].message, data }
}

/** The body of a failure. `message` and `details` are for people; programs decide by `code` and the code's own `data`. */
export function failure<C extends FailureCode>(
  code: C,
  requestId: string,
  said: { message?: string | undefined; details?: FaultDetail[] | undefined; data?: CodeData<C> | undefined } = {},
): Envelope<FailureData<C>, C> {
  const data = { requestId, details: said.details ?? [], ...said.data } as FailureData<C>
  return { code, message: said.message ?? codes[code].message, data }
}
