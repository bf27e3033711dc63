import type {
  AnswerOf,
  DryRunAnswerOf,
  DryRunOf,
  OperationName,
  RequestHeaders,
  RequestOf,
} from '@dealer-esim/contract'
import type { Deps } from '#deps.ts'
import type { Admitted } from '#tenants/admission/admission.ts'

/** An admitted request of an operation. */
export interface Call<Name extends OperationName> extends Admitted {
  request: RequestOf<Name> | DryRunOf<Name>
  headers: RequestHeaders
  address: string
  /** When the request arrived, by `Clock.monotonic`. */
  receivedAt: number
  /**
   * Serves other dealers' requests before work that takes a fraction of a millisecond.
   * @throws ApiError 000002 if too much work of this dealer is waiting, or if the caller has gone away
   */
  nextTurn(): Promise<void>
}

/**
 * The JSON of an answer in parts, which `sendAnswer` releases. While one dealer reads pages of 250 kB without
 * a pause, the gateway takes 1 MB more memory; with each page as one text it took 163 MB.
 */
export class JsonParts {
  readonly parts: string[]
  constructor(parts: string[]) {
    this.parts = parts
  }
}

export interface Result<Name extends OperationName> {
  data: AnswerOf<Name> | DryRunAnswerOf<Name> | JsonParts
  /** True if the answer repeats that of an earlier call with the same transactionId. */
  isReplay?: boolean
}

export type Handler<Name extends OperationName> = (deps: Deps, call: Call<Name>) => Promise<Result<Name>>

/** The implementation of each dealer API operation, as api.ts passes it in. */
export type Operations = { readonly [Name in OperationName]: Handler<Name> }
