import type {
  ActionAnswer,
  ActionQueryRequest,
  ActionRequest,
  AnswerOf,
  EsimAction,
  OperationName,
  OrderAnswer,
  OrderDryRun,
  OrderDryRunAnswer,
  OrderListAnswer,
  OrderListRequest,
  OrderRequest,
  OrderSummary,
  Package,
  PackageListAnswer,
  PackageListRequest,
  PackageOnSale,
  Profile,
  ProfileListAnswer,
  ProfileListRequest,
  QueryAnswer,
  QueryRequest,
  RequestOf,
  SendAnswer,
  SendRequest,
  StatementAnswer,
  StatementEntry,
  StatementRequest,
  TopupAnswer,
  TopupDryRun,
  TopupDryRunAnswer,
  TopupRequest,
} from '@dealer-esim/contract'
import type { Exchange } from './attempt.ts'
import { type Caller, type CallOptions, type CallResult, call } from './call.ts'
import { eachRow } from './each-row.ts'
import { checkBaseUrl, checkRetries, checkText, checkTimeout } from './options.ts'
import { type TestOperations, testOperations } from './test-operations.ts'
import { type WaitOptions, waitForOrder } from './wait-for-order.ts'

export interface DealerEsimOptions {
  /** The base URL of the gateway, without `/open-api/v1`. */
  baseUrl: string
  appKey: string
  appSecret: string
  /** Limit for each attempt, including reading the whole answer; 30 000 by default. */
  timeoutMs?: number
  /** Attempts after the first, for failures that may be temporary; 3 by default. */
  retries?: number
  /** A replacement for `fetch`, for proxies and tests. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /**
   * Called with every attempt, for logs. Bodies contain activation codes, so be careful where you store them. Its errors
   * do not affect the call; they go to `console.error`.
   */
  observe?: (exchange: Exchange) => void
  /** The current time in milliseconds since 1970, for machines whose clock is wrong. */
  now?: () => number
}

/** An order's answer. */
export interface Order extends OrderAnswer {
  /** True if the transactionId was used before: this is the first order's answer, and nothing was debited again. */
  replayed: boolean
}

/** A top-up's answer. */
export interface Topup extends TopupAnswer {
  /** True if the transactionId was used before: this is the first top-up's answer, and nothing was debited again. */
  replayed: boolean
}

export type OrderCallOptions = CallOptions & {
  /**
   * Generates a transactionId if the request has none; it is in the answer and in `error.transactionId`. A program that
   * may crash between the call and the answer should generate and store its own first.
   */
  generateTransactionId?: boolean
}

/** The answer to an action. */
export interface Action extends ActionAnswer {
  /** True if the transactionId had been used before. The answer is then the earlier action, with its current status. */
  replayed: boolean
}

/** The e-mail to a traveller. */
export type EsimSendRequest = Omit<SendRequest, 'transactionId'> & {
  /** Repeat a call with the same transactionId. Required unless `generateTransactionId` is set. */
  transactionId?: string
}

/** An action on an eSIM, identified by `esimTranNo` or `iccid`. */
export type EsimActionRequest = Omit<ActionRequest, 'action' | 'transactionId'> & {
  /** Repeat a call with the same transactionId. Required unless `generateTransactionId` is set. */
  transactionId?: string
}

/**
 * A dealer's client for one gateway. Every method signs, sends, retries where that is safe, and resolves with the `data`
 * of the answer; failures throw a DealerEsimError. Invalid options throw a TypeError immediately.
 */
export class DealerEsim {
  readonly #caller: Caller

  constructor(options: DealerEsimOptions) {
    this.#caller = {
      baseUrl: checkBaseUrl(options.baseUrl),
      appKey: checkText('appKey', options.appKey),
      appSecret: checkText('appSecret', options.appSecret),
      timeoutMs: checkTimeout(options.timeoutMs ?? 30_000),
      retries: checkRetries(options.retries ?? 3),
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      observe: options.observe,
      now: options.now ?? Date.now,
      newRequestId: () => crypto.randomUUID(),
      random: Math.random,
    }
  }

  /** Checks the connection and returns the tenant of the credentials. */
  health(options?: CallOptions): Promise<AnswerOf<'health'>> {
    return this.call('health', {}, options)
  }

  /** The account's balance, in 1/10 000 of `currencyCode`: 45000 is 4.50. */
  balance(options?: CallOptions): Promise<AnswerOf<'account/balance'>> {
    return this.call('account/balance', {}, options)
  }

  /** One page of the packages that the tenant may buy; `eachPackage` follows the pages. */
  packages(request: PackageListRequest = {}, options?: CallOptions): Promise<PackageListAnswer> {
    return this.call('package/list', request, options)
  }

  /**
   * All packages that match, page by page; with `updatedSince` also those taken off sale, as `OFF_SALE`. `asOf`, which you
   * need to keep a copy of the catalogue, is a member of the pages: use `packages`.
   */
  eachPackage(
    request?: Omit<PackageListRequest, 'cursor' | 'updatedSince'> & { updatedSince?: never },
    options?: CallOptions,
  ): AsyncGenerator<PackageOnSale>
  eachPackage(request: Omit<PackageListRequest, 'cursor'>, options?: CallOptions): AsyncGenerator<Package>
  eachPackage(request: Omit<PackageListRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Package> {
    return eachRow('packageList', (cursor) => this.packages({ ...request, ...cursor }, options))
  }

  /**
   * Buys eSIMs from the balance. The transactionId makes the order idempotent: repeating it, from any process and at any
   * time, does not debit again and returns the first order. The SDK's own retries keep it.
   */
  order(request: OrderRequest, options?: OrderCallOptions): Promise<Order>
  order(
    request: Omit<OrderRequest, 'transactionId'> & { transactionId?: string },
    options: OrderCallOptions & { generateTransactionId: true },
  ): Promise<Order>
  order(
    request: Omit<OrderRequest, 'transactionId'> & { transactionId?: string },
    options?: OrderCallOptions,
  ): Promise<Order> {
    return this.#callOnce<OrderAnswer>('esim/order', request, options)
  }

  /**
   * Adds a package of type TOPUP to an eSIM, from the balance: idempotent by its transactionId, like `order`. `query` and
   * `waitForOrder` return whether it is delivered.
   */
  topup(request: TopupRequest, options?: OrderCallOptions): Promise<Topup>
  topup(
    request: Omit<TopupRequest, 'transactionId'> & { transactionId?: string },
    options: OrderCallOptions & { generateTransactionId: true },
  ): Promise<Topup>
  topup(
    request: Omit<TopupRequest, 'transactionId'> & { transactionId?: string },
    options?: OrderCallOptions,
  ): Promise<Topup> {
    return this.#callOnce<TopupAnswer>('esim/topup', request, options)
  }

  /**
   * Makes every check of `order` and returns what it would debit. Nothing is bought and nothing is reserved, so the order
   * itself may still be refused. If the request has a transactionId that is taken, returns that order.
   */
  quote(request: Omit<OrderDryRun, 'validateOnly' | 'transactionId'>, options?: CallOptions): Promise<OrderDryRunAnswer>
  quote(request: Omit<OrderDryRun, 'validateOnly'>, options?: CallOptions): Promise<OrderDryRunAnswer | Order>
  quote(request: Omit<OrderDryRun, 'validateOnly'>, options?: CallOptions): Promise<OrderDryRunAnswer | Order> {
    return this.#dryRun<OrderDryRunAnswer, Order>('esim/order', request, options)
  }

  /** Makes every check of `topup`, like `quote` for an order. */
  quoteTopup(
    request: Omit<TopupDryRun, 'validateOnly' | 'transactionId'>,
    options?: CallOptions,
  ): Promise<TopupDryRunAnswer>
  quoteTopup(request: Omit<TopupDryRun, 'validateOnly'>, options?: CallOptions): Promise<TopupDryRunAnswer | Topup>
  quoteTopup(request: Omit<TopupDryRun, 'validateOnly'>, options?: CallOptions): Promise<TopupDryRunAnswer | Topup> {
    return this.#dryRun<TopupDryRunAnswer, Topup>('esim/topup', request, options)
  }

  async #dryRun<Quote extends { validateOnly: true }, Taken>(
    operation: OperationName,
    request: object,
    options?: CallOptions,
  ): Promise<Quote | Taken> {
    const { data, headers } = await call(this.#caller, operation, { ...request, validateOnly: true }, options)
    const answer = data as Quote | Taken
    return headers.get('idempotent-replayed') === 'true' ? { ...answer, replayed: true } : answer
  }

  /** An order with its eSIMs and status history, by orderNo or transactionId. */
  query(request: QueryRequest, options?: CallOptions): Promise<QueryAnswer> {
    return this.call('esim/query', request, options)
  }

  /**
   * Queries an order at growing intervals until its status is final, or until `waitMs`, a minute by default, is over: check
   * its `orderStatus`. Throws `TIMED_OUT` if no query was answered in that time; `signal` ends the wait with `ABORTED`.
   */
  waitForOrder(which: QueryRequest, options: WaitOptions = {}): Promise<QueryAnswer> {
    return waitForOrder((request, each) => this.query(request, each), which, options)
  }

  /** One page of eSIMs, newest first; `eachProfile` follows the pages. */
  profiles(request: ProfileListRequest = {}, options?: CallOptions): Promise<ProfileListAnswer> {
    return this.call('esim/profile/list', request, options)
  }

  /** All eSIMs that match, newest first, page by page. */
  eachProfile(request: Omit<ProfileListRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Profile> {
    return eachRow('profileList', (cursor) => this.profiles({ ...request, ...cursor }, options))
  }

  /**
   * Sends the link of an eSIM to its traveller by e-mail. Idempotent by transactionId: a repeat sends nothing and answers the
   * present status. `query` lists what was sent of an order.
   */
  send(request: EsimSendRequest, options?: OrderCallOptions): Promise<SendAnswer & { replayed: boolean }> {
    return this.#callOnce<SendAnswer>('esim/profile/send', request, options)
  }

  /**
   * Cancels an eSIM that was not downloaded; it is refunded when its supplier has cancelled it. The answer is PENDING at
   * first: `action` or the event ESIM_ACTION_UPDATED returns the outcome. All actions are idempotent by transactionId.
   */
  cancel(request: EsimActionRequest, options?: OrderCallOptions): Promise<Action> {
    return this.#act('esim/cancel', 'CANCEL', request, options)
  }

  /** Interrupts the service of an eSIM in use. */
  suspend(request: EsimActionRequest, options?: OrderCallOptions): Promise<Action> {
    return this.#act('esim/suspend', 'SUSPEND', request, options)
  }

  /** Resumes the service of a suspended eSIM. */
  unsuspend(request: EsimActionRequest, options?: OrderCallOptions): Promise<Action> {
    return this.#act('esim/unsuspend', 'UNSUSPEND', request, options)
  }

  /** Ends the service of an eSIM for good, without a refund. */
  revoke(request: EsimActionRequest, options?: OrderCallOptions): Promise<Action> {
    return this.#act('esim/revoke', 'REVOKE', request, options)
  }

  #act(
    operation: OperationName,
    action: EsimAction,
    request: EsimActionRequest,
    options?: OrderCallOptions,
  ): Promise<Action> {
    return this.#callOnce<ActionAnswer>(operation, { ...request, action }, options)
  }

  /** Calls an operation that is executed once for each transactionId. */
  async #callOnce<Answer>(
    operation: OperationName,
    request: { transactionId?: string; action?: EsimAction },
    { generateTransactionId, ...options }: OrderCallOptions = {},
  ): Promise<Answer & { replayed: boolean }> {
    const transactionId = request.transactionId ?? (generateTransactionId ? newTransactionId() : undefined)
    const result = await call(this.#caller, operation, { ...request, transactionId }, options)
    return { ...(result.data as Answer), replayed: result.headers.get('idempotent-replayed') === 'true' }
  }

  /** A cancel, suspend, unsuspend or revoke, by actionNo or transactionId. */
  action(request: ActionQueryRequest, options?: CallOptions): Promise<ActionAnswer> {
    return this.call('esim/action/query', request, options)
  }

  /** Usage, expiry and status of up to 100 eSIMs, as their supplier last reported them. */
  usage(request: RequestOf<'esim/usage/query'>, options?: CallOptions): Promise<AnswerOf<'esim/usage/query'>> {
    return this.call('esim/usage/query', request, options)
  }

  /** One page of orders, newest first, without their eSIMs; `eachOrder` follows the pages. */
  orders(request: OrderListRequest = {}, options?: CallOptions): Promise<OrderListAnswer> {
    return this.call('order/list', request, options)
  }

  /** All orders that match, newest first, page by page. */
  eachOrder(request: Omit<OrderListRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<OrderSummary> {
    return eachRow('orderList', (cursor) => this.orders({ ...request, ...cursor }, options))
  }

  /** One page of the movements of the balance, newest first; `eachEntry` follows the pages. */
  statement(request: StatementRequest = {}, options?: CallOptions): Promise<StatementAnswer> {
    return this.call('account/statement', request, options)
  }

  /** All movements that match, newest first, page by page. */
  eachEntry(request: Omit<StatementRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<StatementEntry> {
    return eachRow('entryList', (cursor) => this.statement({ ...request, ...cursor }, options))
  }

  /** A signed checkpoint of the ledger: of all its entries, or of the first `treeSize`. `verifyCheckpoint` checks it. */
  checkpoint(
    request: RequestOf<'ledger/checkpoint'> = {},
    options?: CallOptions,
  ): Promise<AnswerOf<'ledger/checkpoint'>> {
    return this.call('ledger/checkpoint', request, options)
  }

  /** The proof that an entry is in the tree of a checkpoint; `verifyInclusion` checks it. */
  proof(request: RequestOf<'ledger/proof'>, options?: CallOptions): Promise<AnswerOf<'ledger/proof'>> {
    return this.call('ledger/proof', request, options)
  }

  /** The proof that a checkpoint's tree begins with that of an older one; `verifyConsistency` checks it. */
  consistency(
    request: RequestOf<'ledger/consistency'>,
    options?: CallOptions,
  ): Promise<AnswerOf<'ledger/consistency'>> {
    return this.call('ledger/consistency', request, options)
  }

  /** The keys that sign checkpoints, and the restores that the ledger went through. */
  ledgerKeys(options?: CallOptions): Promise<AnswerOf<'ledger/keys'>> {
    return this.call('ledger/keys', {}, options)
  }

  /** All countries, and the regional and global coverage on sale, with names in a language (BCP 47). */
  locations(request: RequestOf<'location/list'> = {}, options?: CallOptions): Promise<AnswerOf<'location/list'>> {
    return this.call('location/list', request, options)
  }

  /** One page of the devices known to take an eSIM: never a promise. */
  devices(request: RequestOf<'device/list'> = {}, options?: CallOptions): Promise<AnswerOf<'device/list'>> {
    return this.call('device/list', request, options)
  }

  /** The brands under which travellers see this tenant, the default one first. */
  brands(options?: CallOptions): Promise<AnswerOf<'brand/list'>> {
    return this.call('brand/list', {}, options)
  }

  /** Sets where events are sent. Absent members are not changed, so `{}` reads the setting; a null URL removes it. */
  setWebhook(request: RequestOf<'webhook/set'> = {}, options?: CallOptions): Promise<AnswerOf<'webhook/set'>> {
    return this.call('webhook/set', request, options)
  }

  /** Sends one sample event of a type, with `test: true`, to the current URL, and returns the receiver's answer. */
  testWebhook(request: RequestOf<'webhook/test'>, options?: CallOptions): Promise<AnswerOf<'webhook/test'>> {
    return this.call('webhook/test', request, options)
  }

  /** For test accounts only: states, usage and time on request. Elsewhere each throws `000109`. */
  readonly test: TestOperations = testOperations(this)

  /** Any operation, by name. */
  async call<N extends OperationName>(
    operation: N,
    request: RequestOf<N>,
    options?: CallOptions,
  ): Promise<AnswerOf<N>> {
    return (await this.exchange(operation, request, options)).data as AnswerOf<N>
  }

  /** Like `call`, but also returns the request id, the headers and the number of attempts. */
  exchange(operation: string, request: object, options?: CallOptions): Promise<CallResult> {
    return call(this.#caller, operation, request, options)
  }
}

/** Generates a new transactionId, a UUID. */
export function newTransactionId(): string {
  return crypto.randomUUID()
}
