import type { Code, CodeData, FailureCode } from './codes.ts'
import { codes } from './codes.ts'

/** One fault of a request. `field` is a path such as `packageInfoList[0].count`, or a header; `reason` says what to do. */
export interface FaultDetail {
  field: string
  reason: string
}

/** The form of every answer, including failures. */
export interface Envelope<D extends object = object, C extends Code = Code> {
  code: C
  message: string
  data: D
}

export type Success<D extends object> = Envelope<D, '000000'>

/** `requestId` is the caller's, or a generated one if the caller's was missing or malformed. */
export type FailureData<C extends FailureCode = FailureCode> = CodeData<C> & {
  requestId: string
  details: FaultDetail[]
}
export type Failure<C extends FailureCode = FailureCode> = C extends FailureCode ? Envelope<FailureData<C>, C> : never

export function success<D extends object>(data: D): Success<D> {
  return { code: '000000', message: codes['000000'].message, data }
}

/** The body of a failure. `message` and `details` are for people; programs use `code` and the members of `data`. */
export function failure<C extends FailureCode>(
  code: C,
  requestId: string,
  parts: { message?: string | undefined; details?: FaultDetail[] | undefined; data?: CodeData<C> | undefined } = {},
): Envelope<FailureData<C>, C> {
  const data = { requestId, details: parts.details ?? [], ...parts.data } as FailureData<C>
  return { code, message: parts.message ?? codes[code].message, data }
}
