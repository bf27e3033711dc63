import type {
  AnswerOf,
  BalanceAnswer,
  OperationName,
  Profile,
  QueryAnswer,
  RequestOf,
  TestBalanceRequest,
  TestEsimRequest,
  TestOrderRequest,
} from '@dealer-esim/contract'
import type { CallOptions } from './call.ts'

export interface TestOperations {
  /** Sets the balance: the difference is posted as an adjustment. */
  setBalance(request: TestBalanceRequest, options?: CallOptions): Promise<BalanceAnswer>
  /** Reports a state or usage of an eSIM as its supplier would, and returns the eSIM as it is afterwards. */
  updateEsim(request: TestEsimRequest, options?: CallOptions): Promise<Profile>
  /** Ends an order that a sandbox package has left ALLOCATING or UNDER_REVIEW. */
  resolveOrder(request: TestOrderRequest, options?: CallOptions): Promise<QueryAnswer>
}

interface Client {
  call<N extends OperationName>(operation: N, request: RequestOf<N>, options?: CallOptions): Promise<AnswerOf<N>>
}

export function testOperations(client: Client): TestOperations {
  return {
    setBalance: (request, options) => client.call('test/balance/set', request, options),
    updateEsim: (request, options) => client.call('test/esim/update', request, options),
    resolveOrder: (request, options) => client.call('test/order/resolve', request, options),
  }
}
