import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { isAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { isCount, isText, type JsonObject, resultIn } from '#members.ts'
import {
  describeBlocked,
  describeFailure,
  type RestAnswer,
  type RestFailure,
  TIMEOUT_MS,
  withoutStop,
} from '#rest-client.ts'
import { storableText } from '#stored-answer.ts'
import { supplierOwner } from '#supplier.ts'
import { messageOf } from './decode.ts'

/**
 * A token of the account, or the reason why it could not be fetched. The message describes the problem and what to do about
 * it.
 */
export type FetchedToken =
  | { kind: 'token'; token: string }
  /** `phase`: Airalo is down, or does not accept the account. */
  | { kind: 'none'; message: string; phase?: RestFailure['phase'] }

export interface AccountTokens {
  /** @param refused a token that Airalo has refused: it is not returned again */
  get(refused?: string): Promise<FetchedToken>
}

interface TokenDeps {
  db: Pick<Db, 'query'>
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  timeoutMs?: number | undefined
  /** The part of the account that this gateway may use. */
  share?: number | undefined
}

/** Airalo issues three tokens a minute; this spaces them a little wider. */
const FETCH_EVERY_MS = 21_000
/** How often a node looks for the token that another node is fetching. */
const LOOK_EVERY_MS = 100
/** A token is no longer used this close to its expiry. */
const MARGIN_S = 60
/** How long a token counts as valid if Airalo does not say. */
const VALID_S = 3_600
const VALID_MAX_S = 30 * 24 * 3_600

/**
 * The account's token, shared by all nodes through a row: one node fetches it and the others wait. It is stored encrypted.
 * A failed fetch is not repeated before Airalo's limit allows it, and its message is shared too.
 */
export function accountTokens(
  supplier: string,
  credentials: readonly string[],
  { db, cipher, timeoutMs = TIMEOUT_MS, share = 1 }: TokenDeps,
  fetchToken: () => Promise<RestAnswer>,
): AccountTokens {
  const owner = supplierOwner(supplier)
  const account = createHash('sha256').update(JSON.stringify(credentials)).digest('hex')
  const everyMs = FETCH_EVERY_MS / share
  let known: { token: string; untilMs: number } | undefined
  let finding: Promise<FetchedToken> | undefined

  async function find(refused: string | undefined): Promise<FetchedToken> {
    const deadline = systemClock.monotonic() + timeoutMs
    let lastFetch: string | undefined
    for (;;) {
      const [row] = await db.query<TokenRow>({ name: 'supplier-token', text: READ, values: [supplier] })
      const isOurs = row?.account === account
      if (isOurs && row.token !== null && row.validS !== null && row.validS > MARGIN_S) {
        const token = cipher.decrypt(row.token, owner).toString()
        if (token !== refused) return keep(token, row.validS)
      }
      const values = [supplier, account, everyMs, row?.token ?? null]
      const claimed = await db.query({ name: 'supplier-token-claim', text: CLAIM, values })
      if (claimed.length > 0) return fetchNow()
      // Another node may have begun to fetch since the row was read: it is read twice.
      if (isOurs && row.nextFetchAt === lastFetch) {
        if (row.failure !== null) return { kind: 'none', message: row.failure, phase: NOT_ACCEPTED }
        if (row.token !== null) return { kind: 'none', message: REFUSED, phase: NOT_ACCEPTED }
      }
      if (systemClock.monotonic() > deadline) return { kind: 'none', message: 'another node is fetching a token' }
      if (row?.nextFetchAt === lastFetch) await delay(LOOK_EVERY_MS)
      lastFetch = row?.nextFetchAt
    }
  }

  async function fetchNow(): Promise<FetchedToken> {
    const answer = await fetchToken()
    const issued =
      answer.kind === 'reply' && answer.status === 200
        ? tokenOf(resultIn(answer.body, 'data', 'access_token'))
        : undefined
    if (issued === undefined) {
      const message = storableText(failureOf(answer))
      await db.query({ name: 'supplier-token-failed', text: FAIL, values: [supplier, account, message] })
      return { kind: 'none', message, phase: NOT_ACCEPTED }
    }
    const values = [supplier, account, cipher.encrypt(issued.token, owner), issued.validS]
    await db.query({ name: 'supplier-token-store', text: STORE, values })
    return keep(issued.token, issued.validS)
  }

  function keep(token: string, validS: number): FetchedToken {
    known = { token, untilMs: systemClock.monotonic() + (validS - MARGIN_S) * 1000 }
    return { kind: 'token', token }
  }

  return {
    async get(refused) {
      if (known !== undefined && known.token !== refused && known.untilMs > systemClock.monotonic()) {
        return { kind: 'token', token: known.token }
      }
      finding ??= find(refused)
        .catch((error): FetchedToken => ({ kind: 'none', message: `the shared token cannot be read: ${error}` }))
        .finally(() => {
          finding = undefined
        })
      return finding
    },
  }
}

/** The breaker counts this failure, like a request to an address that is not allowed. */
const NOT_ACCEPTED = 'forbidden'
const REFUSED = 'Credentials: Airalo refused a token that it has just issued. Ask it whether the account is active.'

interface TokenRow {
  account: string
  /** Changes with every fetch, so it identifies the fetch. */
  nextFetchAt: string
  token: Buffer | null
  validS: number | null
  failure: string | null
}

const READ = `
  select account, next_fetch_at::text, token, extract(epoch from expires_at - clock_timestamp())::float8 as valid_s, failure
  from supplier_tokens where supplier = $1`

/**
 * Takes the right to fetch, unless another node has stored a token in the meantime. Locks the supplier's row until its own
 * commit. Ignores a next_fetch_at more than two intervals away: a fast clock wrote it.
 */
const CLAIM = `
  insert into supplier_tokens as t (supplier, account, next_fetch_at)
  values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
  on conflict (supplier) do update
    set account = excluded.account, next_fetch_at = excluded.next_fetch_at,
      token = null, expires_at = null, failure = null
    where t.token is not distinct from $4
      and (t.account <> $2 or t.next_fetch_at <= clock_timestamp()
        or ${isAhead('t.next_fetch_at', '2 * $3', 'clock_timestamp()')})
  returning supplier`

const STORE = `
  update supplier_tokens
  set token = $3, expires_at = clock_timestamp() + $4 * interval '1 second', failure = null
  where supplier = $1 and account = $2`

const FAIL = `update supplier_tokens set failure = $3 where supplier = $1 and account = $2 and token is null`

function tokenOf(data: JsonObject | undefined): { token: string; validS: number } | undefined {
  if (!isText(data?.access_token)) return undefined
  const validS = isCount(data.expires_in) ? Math.min(data.expires_in, VALID_MAX_S) : VALID_S
  return { token: data.access_token, validS }
}

function failureOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return describeFailure(answer)
  const blocked = describeBlocked('Airalo', answer)
  if (blocked !== undefined) return blocked
  const message = withoutStop(messageOf(answer))
  switch (answer.status) {
    case 400:
    case 401:
    case 403:
    case 422:
      return `Credentials: ${message}. Check clientId and clientSecret.`
    case 404:
      return `Protocol: ${message}. The url must end with the version, as in https://partners-api.airalo.com/v2.`
    case 429:
      return `Limit: ${message}. Airalo issues three tokens a minute: wait, and set share if other programs use the account.`
    default:
      return `Protocol: ${message}. Check that the url is that of Airalo's Partner API.`
  }
}
