import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound, OutboundOutcome, OutboundRequest } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { createSupplier, SUPPLIER_TYPES, type SupplierType } from '../create-supplier.ts'
import { LISTS, RECEIVE } from './record-calls.ts'
import type { RedactedExchange } from './redact-recording.ts'

/** How the adapter for the supplier's type reads the answers to one call. */
export interface ReplayedCall {
  operation: string
  exchanges: RedactedExchange[]
  /** Outcomes, reports, a balance or, for a list, its rows. */
  result: unknown
  /** The exception that ended the call. */
  error?: string
  /** Requests that the adapter did not send this time. */
  unsent: number
  /** Requests that the recording has no answer to, such as `GET /v1/orders/KEY`. They time out. */
  unanswered: string[]
}

interface ReplayDeps {
  /** A separate database: adapters store the progress of a purchase. */
  db: Db
  ids: Ids
}

const SUPPLIER = 'recorded'
/** A replay already has every answer, so an adapter does not have to wait longer for a delivery than for an answer. */
const TIMEOUT_MS = 1_000

/**
 * Calls the adapter of a recording's type again, in the order of the recording, and answers its requests from the
 * recording.
 */
export async function* replayRecording(
  deps: ReplayDeps,
  { supplierType, config, exchanges }: RecordedCalls,
): AsyncGenerator<ReplayedCall> {
  await deps.db.query(sql`
    insert into suppliers (supplier, type, config) values (${SUPPLIER}, ${supplierType}, '') on conflict do nothing`)
  let left: RedactedExchange[] = []
  let unanswered: string[] = []
  const outbound: Outbound = {
    request: async (request) => answerFrom(left, unanswered, request),
    close: async () => {},
  }
  const plain = { encrypt: (value: string | Buffer) => Buffer.from(value), decrypt: (value: Buffer) => value }
  const wake = { wake() {} }
  const encoded = Buffer.from(
    JSON.stringify({ ...config, ...(supplierType === 'stock' ? {} : { timeoutMs: TIMEOUT_MS }) }),
  )
  const supplier = createSupplier(
    { ...deps, cipher: plain, outbound, linkKey: Buffer.alloc(32), wake },
    supplierType,
    SUPPLIER,
    encoded,
  )
  for (const ofCall of groupByCall(exchanges)) {
    const { operation, arguments: input } = ofCall[0]!.call
    if (operation === RECEIVE) {
      const result = 'an event, whose signature is not recorded'
      yield { operation, exchanges: ofCall, result, unsent: 0, unanswered: [] }
      continue
    }
    left = [...ofCall]
    unanswered = []
    const method = (supplier as unknown as Record<string, ((...input: unknown[]) => unknown) | undefined>)[operation]
    const replayed = { operation, exchanges: ofCall }
    try {
      const answer = method?.apply(supplier, input.map(reviveArgument))
      const result = LISTS.has(operation) ? await collect(answer as AsyncIterable<unknown>) : await answer
      yield { ...replayed, result, unsent: left.length, unanswered }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      yield { ...replayed, result: undefined, error: message, unsent: left.length, unanswered }
    }
  }
  await supplier.stop?.()
}

function groupByCall(exchanges: readonly RedactedExchange[]): RedactedExchange[][] {
  const calls = new Map<string, RedactedExchange[]>()
  for (const exchange of exchanges) {
    const { callId } = exchange.call
    calls.set(callId, [...(calls.get(callId) ?? []), exchange])
  }
  return [...calls.values()]
}

/** What a replay reads from the file that `supplier record` writes. */
interface RecordedCalls {
  supplierType: SupplierType
  config: Record<string, unknown>
  exchanges: RedactedExchange[]
}

/** @throws Error if `text` is not the file of a recording, with a sentence that says what it must be */
export function parseRecording(text: string): RecordedCalls {
  let file: Partial<RecordedCalls> & { expected?: unknown }
  try {
    file = JSON.parse(text)
  } catch (error) {
    throw new Error(`It is not JSON: ${(error as Error).message}.`)
  }
  const { supplierType, config = {}, exchanges, expected } = file ?? {}
  if (supplierType === undefined && expected !== undefined) throw new Error(OTHER_FORM)
  const type = SUPPLIER_TYPES.find((known) => known === supplierType)
  if (type === undefined) throw new Error(`Its supplierType must be one of ${SUPPLIER_TYPES.join(', ')}.`)
  if (!Array.isArray(exchanges) || !exchanges.every(isExchange)) {
    throw new Error('Each of its exchanges must have a call and a request, as written by supplier record.')
  }
  return { supplierType: type, config, exchanges }
}

const OTHER_FORM =
  'It is a case with an `expected` outcome, not a file of supplier record. Run it with: npx vitest run packages/wholesalers/src/recordings.test.ts.'

function isExchange(exchange: Partial<RedactedExchange> | null): boolean {
  const { call, request } = exchange ?? {}
  return typeof request?.path === 'string' && typeof call?.operation === 'string' && Array.isArray(call.arguments)
}

async function collect(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const collected: unknown[] = []
  for await (const row of rows) collected.push(row)
  return collected
}

/** Arguments are JSON: a date passed to `list` and the prices of a guard have become text. */
function reviveArgument(argument: unknown): unknown {
  if (typeof argument === 'string' && /^\d{4}-\d\d-\d\dT/.test(argument)) return new Date(argument)
  if (!Array.isArray(argument)) return argument
  return argument.map((request) => {
    if (typeof request?.guard !== 'object') return request
    const { cost, salePrice, currencyCode } = request.guard
    return { ...request, guard: { cost: BigInt(cost), salePrice: BigInt(salePrice), currencyCode } }
  })
}

/**
 * Takes the recorded exchange of a request out of `left`: the one with its body, otherwise the first one with its path. A
 * request without an exchange is added to `unanswered`.
 */
function answerFrom(
  left: RedactedExchange[],
  unanswered: string[],
  { method, url, body }: OutboundRequest,
): OutboundOutcome {
  const { pathname, searchParams } = new URL(url)
  const sent = body === undefined ? '' : String(body)
  const matches = left.filter(({ request }) => {
    const recorded = new URL(request.path, url)
    return request.method === method && decodeURI(recorded.pathname) === decodeURI(pathname)
  })
  const exact = matches.find(
    ({ request }) =>
      JSON.stringify(request.body ?? '') === sent && new URL(request.path, url).search === `?${searchParams}`,
  )
  const found = exact ?? matches[0]
  if (found === undefined && pathname.endsWith('/token')) return answerOf({ status: 200, headers: {}, body: TOKEN })
  if (found === undefined) {
    unanswered.push(`${method} ${pathname}`)
    const message = `the recording has no answer to ${method} ${pathname}`
    return { kind: 'failed', phase: 'time-out', sent: true, message }
  }
  left.splice(left.indexOf(found), 1)
  const { answer, failure } = found
  if (answer === undefined) {
    const phase = (failure?.phase ?? 'time-out') as 'time-out'
    return { kind: 'failed', phase, sent: failure?.sent ?? true, message: `no answer (${phase})` }
  }
  return answerOf(answer)
}

/** For a recording that began when the nodes already had an Airalo token. */
const TOKEN = { data: { access_token: 'recorded-token', expires_in: 86_400 } }

function answerOf({ status, headers, body }: NonNullable<RedactedExchange['answer']>): OutboundOutcome {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { kind: 'answer', status, headers, body: Buffer.from(text), truncated: false, address: '198.18.0.1' }
}
