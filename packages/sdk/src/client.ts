import type {
  AnswerOf,
  BalanceAnswer,
  HealthAnswer,
  OperationName,
  OrderAnswer,
  OrderRequest,
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
  WebhookSetAnswer,
  WebhookSetRequest,
} from '@dealer-esim/contract'
import type { Exchange } from './attempt.ts'
import { type Caller, type CallOptions, type CallResult, call } from './call.ts'
import { DealerEsimError } from './error.ts'
import { checkBaseUrl, checkRetries, checkText, checkTimeout } from './options.ts'
import { type WaitOptions, waitForOrder } from './wait-for-order.ts'

export interface DealerEsimOptions {
  /** Where the gateway is, without `/open-api/v1`. */
  baseUrl: string
  appKey: string
  appSecret: string
  /** For each attempt, the whole answer read; 30 000 by default. */
  timeoutMs?: number
  /** Attempts after the first, where repeating is safe and may help; 3 by default, 0 for none. */
  retries?: number
  /** Another `fetch`: a proxy's, or a test's. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /**
   * Sees every attempt: for logs. Bodies hold activation codes, so mind where they go. What it throws changes nothing
   * of the call; it goes to `console.error`.
   */
  observe?: (exchange: Exchange) => void
  /** Milliseconds since 1970, for machines whose clock is wrong. */
  now?: () => number
}

/** An order's answer. */
export interface Order extends OrderAnswer {
  /** The transactionId had been ordered before: this is the first order's answer, and nothing was debited again. */
  replayed: boolean
}

export type OrderCallOptions = CallOptions & {
  /**
   * Makes the transactionId when the request has none; it comes back in the answer and in `error.transactionId`.
   * A program that may die between the call and the answer makes its own and stores it first.
   */
  generateTransactionId?: boolean
}

/**
 * A dealer's client of one gateway. Every method signs, sends, repeats where that is safe, and resolves with the
 * `data` of the answer; whatever fails throws a DealerEsimError. An option that cannot work is a TypeError at once.
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

  /** Whose credentials are these, and is the gateway up? */
  health(options?: CallOptions): Promise<HealthAnswer> {
    return this.call('health', {}, options)
  }

  /** Money is in 1/10 000 of `currencyCode`: 45000 is 4.50. */
  balance(options?: CallOptions): Promise<BalanceAnswer> {
    return this.call('account/balance', {}, options)
  }

  /** One page of the packages that may be bought; `eachPackage` follows the pages. */
  packages(request: PackageListRequest = {}, options?: CallOptions): Promise<PackageListAnswer> {
    return this.call('package/list', request, options)
  }

  /**
   * Every package that matches, page by page. With `updatedSince` also those that left sale, as `OFF_SALE`. `asOf`, for
   * a copy of the catalogue, is a page's: take the pages from `packages`.
   */
  eachPackage(
    request?: Omit<PackageListRequest, 'cursor' | 'updatedSince'> & { updatedSince?: never },
    options?: CallOptions,
  ): AsyncGenerator<PackageOnSale>
  eachPackage(request: Omit<PackageListRequest, 'cursor'>, options?: CallOptions): AsyncGenerator<Package>
  eachPackage(request: Omit<PackageListRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Package> {
    return eachRow(async (cursor) => {
      const page = await this.packages({ ...request, ...cursor }, options)
      return { rows: page.packageList, nextCursor: page.nextCursor }
    })
  }

  /**
   * Buys eSIMs from the balance. The transactionId makes the order idempotent: repeating it, from any process and at
   * any time, debits nothing again and answers the first order. The SDK's own retries keep it.
   */
  order(request: OrderRequest, options?: OrderCallOptions): Promise<Order>
  order(
    request: Omit<OrderRequest, 'transactionId'> & { transactionId?: string },
    options: OrderCallOptions & { generateTransactionId: true },
  ): Promise<Order>
  async order(
    request: Omit<OrderRequest, 'transactionId'> & { transactionId?: string },
    options: OrderCallOptions = {},
  ): Promise<Order> {
    const { generateTransactionId, ...rest } = options
    const transactionId = request.transactionId ?? (generateTransactionId ? newTransactionId() : undefined)
    const result = await call(this.#caller, 'esim/order', { ...request, transactionId }, rest)
    const replayed = result.headers.get('idempotent-replayed') === 'true'
    return { ...(result.data as unknown as OrderAnswer), replayed }
  }

  /** What became of an order, by orderNo or transactionId. */
  query(request: QueryRequest, options?: CallOptions): Promise<QueryAnswer> {
    return this.call('esim/query', request, options)
  }

  /**
   * The order once nothing more happens to it by itself, asked for at growing intervals; or as it is when `waitMs`,
   * a minute by default, is over: look at its `orderStatus`. Where no query was answered by then, it throws `TIMED_OUT`;
   * `signal` ends the waiting with `ABORTED`.
   */
  waitForOrder(which: QueryRequest, options: WaitOptions = {}): Promise<QueryAnswer> {
    return waitForOrder((request, each) => this.query(request, each), which, options)
  }

  /** One page of eSIMs, newest first; `eachProfile` follows the pages. */
  profiles(request: ProfileListRequest = {}, options?: CallOptions): Promise<ProfileListAnswer> {
    return this.call('esim/profile/list', request, options)
  }

  /** Every eSIM that matches, newest first, page by page. */
  eachProfile(request: Omit<ProfileListRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Profile> {
    return eachRow(async (cursor) => {
      const page = await this.profiles({ ...request, ...cursor }, options)
      return { rows: page.profileList, nextCursor: page.nextCursor }
    })
  }

  /** Chooses where events go. Absent members stay as they are, so `{}` reads the setting; a null URL removes it. */
  setWebhook(request: WebhookSetRequest = {}, options?: CallOptions): Promise<WebhookSetAnswer> {
    return this.call('webhook/set', request, options)
  }

  /** Any operation by its name. */
  async call<N extends OperationName>(
    operation: N,
    request: RequestOf<N>,
    options?: CallOptions,
  ): Promise<AnswerOf<N>> {
    return (await this.exchange(operation, request, options)).data as AnswerOf<N>
  }

  /** Like `call`, with the answer's requestId, headers and the number of attempts around its `data`. */
  exchange(operation: string, request: object, options?: CallOptions): Promise<CallResult> {
    return call(this.#caller, operation, request, options)
  }
}

/** A transactionId that nobody has used: a UUID. */
export function newTransactionId(): string {
  return crypto.randomUUID()
}

interface Page<T> {
  rows: readonly T[]
  nextCursor: string | null
}

/** The rows of all pages. A page is asked for when its first row is wanted, so leaving the loop early costs nothing. */
export async function* eachRow<T>(ask: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined
  for (;;) {
    const page = await ask(cursor === undefined ? {} : { cursor })
    yield* page.rows
    if (page.nextCursor === null || page.nextCursor === undefined) return
    if (page.nextCursor === cursor) {
      const message = 'The gateway answered the same cursor twice: the list would never end.'
      throw new DealerEsimError({ code: 'ANSWER_UNREADABLE', message })
    }
    cursor = page.nextCursor
  }
}
