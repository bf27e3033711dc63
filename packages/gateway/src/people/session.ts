import sql from 'sql-template-tag'
import { audit, type By } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import type { Person } from './person.ts'
import { hashToken, newToken } from './token.ts'

// A session ends after twelve idle hours, so that a forgotten tab does not stay open over night, and after two weeks
// in any case.
const IDLE = '12 hours'
const LIFE = '14 days'
/** seen_at is written at most this often: reading a page is not a write. */
const SEEN_EVERY = '1 minute'
const USER_AGENT_LENGTH_MAX = 300

export interface Session {
  sessionId: string
  personId: string
}

export interface SessionRow {
  sessionId: string
  address: string | null
  userAgent: string | null
  createdAt: Date
  seenAt: Date
}

/** The token goes into a cookie; the table has its hash. */
export function openSession(tx: Tx, ids: Ids, personId: string, from: { address: string; userAgent: string }): string {
  const { token, hash } = newToken(ids)
  const userAgent = from.userAgent.slice(0, USER_AGENT_LENGTH_MAX)
  tx.send(sql`
    insert into sessions (session_id, person_id, token_hash, address, user_agent, expires_at)
    values (${ids.uuid()}, ${personId}, ${hash}, ${from.address}, ${userAgent}, now() + ${LIFE}::interval)`)
  tx.send(sql`update people set last_sign_in_at = now() where person_id = ${personId}`)
  tx.send(sql`delete from sessions where person_id = ${personId} and ${ended}`)
  return token
}

/** The living session of a token; a page that asks by itself, with nobody before it, does not prolong it. */
export async function sessionOf(db: Db, token: string, attended: boolean): Promise<Session | undefined> {
  const rows = await db.query<Session & { stale: boolean }>(sql`
    select session_id, person_id, seen_at < now() - ${SEEN_EVERY}::interval as stale
    from sessions where token_hash = ${hashToken(token)} and not ${ended}`)
  const session = rows[0]
  if (session?.stale && attended)
    await db.query(sql`update sessions set seen_at = now() where session_id = ${session.sessionId}`)
  return session
}

export function sessionsOf(db: Db, personId: string): Promise<SessionRow[]> {
  return db.query<SessionRow>(sql`
    select session_id, address, user_agent, created_at, seen_at
    from sessions where person_id = ${personId} and not ${ended} order by seen_at desc limit 100`)
}

/** @returns whether there was such a session of the person. */
export async function endSession(tx: Tx, personId: string, sessionId: string): Promise<boolean> {
  const rows = await tx.query(sql`
    delete from sessions where person_id = ${personId} and session_id = ${sessionId} returning 1`)
  return rows.length > 0
}

/** Ends all sessions of a person but the one that is kept. */
export function endSessions(tx: Tx, personId: string, keep: string | null): void {
  tx.send(sql`
    delete from sessions where person_id = ${personId} and session_id is distinct from ${keep}::uuid`)
}

/** Ends the session that the person is signed in by. */
export async function signOut(deps: { db: Db; ids: Ids }, person: Person, sessionId: string, by: By): Promise<void> {
  await deps.db.tx(async (tx) => {
    await endSession(tx, person.personId, sessionId)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, action: 'person.sign_out' })
  })
}

export function signedOut(): Refusal {
  return new Refusal(401, 'SIGNED_OUT', 'You are not signed in. Sign in and try again.')
}

const ended = sql`(expires_at < now() or seen_at < now() - ${IDLE}::interval)`
