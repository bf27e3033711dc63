import type {
  AnswerOf,
  BalanceAnswer,
  OperationName,
  Profile,
  QueryAnswer,
  RequestOf,
  TestBalanceRequest,
  TestClockAnswer,
  TestClockRequest,
  TestEsimRequest,
  TestOrderRequest,
} from '@dealer-esim/contract'
import type { CallOptions } from './call.ts'
import { DealerEsimError } from './error.ts'

export interface TestOperations {
  /** Sets the balance: the difference is posted as an adjustment. */
  setBalance(request: TestBalanceRequest, options?: CallOptions): Promise<BalanceAnswer>
  /** Reports a state or usage of an eSIM as its supplier would, and returns the eSIM as it is afterwards. */
  updateEsim(request: TestEsimRequest, options?: CallOptions): Promise<Profile>
  /** Ends an order that a sandbox package has left ALLOCATING or UNDER_REVIEW. */
  resolveOrder(request: TestOrderRequest, options?: CallOptions): Promise<QueryAnswer>
  /**
   * Moves the time of the account forward, once, even if an answer is lost and the call is sent again: it then throws `200005`
   * with `data.current`. Without `fromTime`, asks for the test time first.
   */
  advanceClock(request: TestClockRequest, options?: CallOptions): Promise<TestClockAnswer>
  /** The `testTime` of the last advance, or the present time before the first. Moves nothing. */
  time(options?: CallOptions): Promise<string>
}

/** No account is at this time, so a call from it is refused with the time that the account is at. */
const NEVER = '1970-01-01T00:00:00.000Z'

interface Client {
  call<N extends OperationName>(operation: N, request: RequestOf<N>, options?: CallOptions): Promise<AnswerOf<N>>
}

export function testOperations(client: Client): TestOperations {
  const operations: TestOperations = {
    setBalance: (request, options) => client.call('test/balance/set', request, options),
    updateEsim: (request, options) => client.call('test/esim/update', request, options),
    resolveOrder: (request, options) => client.call('test/order/resolve', request, options),
    async advanceClock(request, options) {
      const fromTime = request.fromTime ?? (await operations.time(options))
      return client.call('test/clock/advance', { ...request, fromTime }, options)
    },
    async time(options) {
      try {
        return (await client.call('test/clock/advance', { hours: 1, fromTime: NEVER }, options)).testTime
      } catch (error) {
        const current = error instanceof DealerEsimError && error.code === '200005' ? error.data.current : undefined
        if (typeof current === 'string') return current
        throw error
      }
    },
  }
  return operations
}
