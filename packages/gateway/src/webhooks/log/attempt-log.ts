import { bytesArray, type Columns, plainArray, timeArray, unnest, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import type { Attempt, Notification, Signer } from '../sending/attempt.ts'
import { maskedAnswer, maskedUrl, outcomeMessage } from './attempt-text.ts'

/** An attempt as the log keeps it: nothing else of it is held until it is written. */
export interface LoggedAttempt {
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  /** Values in its query masked. */
  url: string
  address: string | undefined
  startedAtMs: number
  durationMs: number
  status: number | undefined
  /** What happened, for people. */
  message: string
  /** The first 4 KiB, without secrets; null: none, or an empty one. */
  answer: Buffer | null
}

/** @param signer whose secrets an answer may echo */
export function loggedAttempt(
  { attemptId, startedAt, durationMs, outcome }: Attempt,
  { notifyId, notifyType }: Pick<Notification, 'notifyId' | 'notifyType'>,
  attemptNo: number,
  url: string,
  signer: Signer,
): LoggedAttempt {
  return {
    attemptId,
    notifyId,
    notifyType,
    attemptNo,
    url: maskedUrl(url),
    address: outcome.address,
    startedAtMs: startedAt.getTime(),
    durationMs,
    status: outcome.kind === 'answer' ? outcome.status : undefined,
    message: outcomeMessage(outcome),
    answer: maskedAnswer(outcome, signer),
  }
}

/** Writes attempts of one tenant into the log that operators and the tenant see; kept for 30 days. */
export function logAttempts(tx: Tx, tenantId: string, attempts: readonly LoggedAttempt[]): void {
  for (const alike of groupAlike(attempts, isAlike)) {
    tx.send({ name: 'webhooks-log', text: LOG, values: [tenantId, ...logValues(alike)] })
  }
}

/** Attempts that are alike are logged by one statement, which says once what they have in common. */
export function isAlike(one: LoggedAttempt, other: LoggedAttempt): boolean {
  return (
    one.url === other.url &&
    one.address === other.address &&
    one.status === other.status &&
    one.message === other.message
  )
}

/** Few groups, mostly one: each item is compared with the first of a group, where a key would be made of each. */
export function groupAlike<Item>(items: readonly Item[], alike: (one: Item, other: Item) => boolean): Item[][] {
  const groups: Item[][] = []
  let latest: Item[] = []
  for (const item of items) {
    if (latest.length === 0 || !alike(latest[0]!, item)) {
      const known = groups.find(([first]) => alike(first!, item))
      latest = known ?? []
      if (!known) groups.push(latest)
    }
    latest.push(item)
  }
  return groups
}

const EACH: Columns = {
  notify_id: 'uuid',
  attempt_id: 'uuid',
  notify_type: 'text',
  attempt_no: 'smallint',
  started_at: 'timestamptz',
  duration_ms: 'integer',
  answer: 'bytea',
}

/** Logs attempts of the tenant $1 that are alike; the array of their events is $6. */
export const LOG = `
  insert into delivery_attempts (tenant_id, url, address, http_status, outcome, ${Object.keys(EACH).join(', ')})
  select $1::uuid, $2::text, $3::text, $4::integer, $5::text, attempt.* from ${unnest(6, EACH, 'attempt')}`

/** The parameters of LOG behind the tenant. */
export function logValues(alike: readonly LoggedAttempt[]): unknown[] {
  const { url, address, status, message } = alike[0]!
  return [
    url,
    address,
    status,
    message,
    uuidArray(alike.map((attempt) => attempt.notifyId)),
    uuidArray(alike.map((attempt) => attempt.attemptId)),
    plainArray(alike.map((attempt) => attempt.notifyType)),
    plainArray(alike.map((attempt) => attempt.attemptNo)),
    timeArray(alike.map((attempt) => attempt.startedAtMs)),
    plainArray(alike.map((attempt) => attempt.durationMs)),
    bytesArray(alike.map((attempt) => attempt.answer)),
  ]
}
