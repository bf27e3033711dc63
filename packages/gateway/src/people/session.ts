import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { Person } from './person.ts'
import { createRandomToken, hashToken } from './secret-token.ts'

/** A session expires after this long without activity: a forgotten tab's session ends overnight. */
const IDLE_MAX = '12 hours'
const LIFETIME = '14 days'
/** `seen_at` is written at most this often, so that most reads do not write. */
const SEEN_INTERVAL = '1 minute'
const USER_AGENT_LENGTH_MAX = 300

/** How the person signed in to a session. */
export type SignInMethod = 'PASSWORD' | 'PASSKEY' | 'PROVIDER'

export interface Session {
  sessionId: string
  personId: string
  signedInBy: SignInMethod
  /** One of the operator's people sees the console as this dealer's administrator, and cannot change anything. */
  viewedTenantId: string | null
}

export interface SessionRow {
  sessionId: string
  address: string | null
  userAgent: string | null
  createdAt: Date
  seenAt: Date
}

/** Creates a session and deletes the person's expired ones. Returns the token for the cookie; only its hash is stored. */
export function createSession(
  tx: Tx,
  ids: Ids,
  personId: string,
  from: { address: string; userAgent: string; signedInBy: SignInMethod },
): string {
  const { token, hash } = createRandomToken(ids)
  const userAgent = from.userAgent.slice(0, USER_AGENT_LENGTH_MAX)
  tx.send(sql`
    insert into sessions (session_id, person_id, token_hash, signed_in_by, address, user_agent, expires_at)
    values (${ids.uuid()}, ${personId}, ${hash}, ${from.signedInBy}, ${from.address}, ${userAgent}, now() + ${LIFETIME}::interval)`)
  tx.send(sql`update people set last_sign_in_at = now() where person_id = ${personId}`)
  tx.send(sql`delete from sessions where person_id = ${personId} and ${expired}`)
  return token
}

/** Finds the session of a token, unless it has expired. Automatic refreshes of an idle page do not extend it. */
export async function findSession(
  db: Db,
  token: string,
  { prolong }: { prolong: boolean },
): Promise<Session | undefined> {
  const [session] = await db.query<Session & { stale: boolean }>(sql`
    select session_id, person_id, signed_in_by, viewed_tenant_id, seen_at < now() - ${SEEN_INTERVAL}::interval as stale
    from sessions where token_hash = ${hashToken(token)} and not ${expired}`)
  if (session?.stale && prolong)
    await db.query(sql`update sessions set seen_at = now() where session_id = ${session.sessionId}`)
  return session
}

export function listSessions(db: Db, personId: string): Promise<SessionRow[]> {
  return db.query<SessionRow>(sql`
    select session_id, address, user_agent, created_at, seen_at
    from sessions where person_id = ${personId} and not ${expired} order by seen_at desc limit 100`)
}

/** @returns false if the person has no such session */
export async function endSession(tx: Tx, personId: string, sessionId: string): Promise<boolean> {
  const rows = await tx.query(sql`
    delete from sessions where person_id = ${personId} and session_id = ${sessionId} returning 1`)
  return rows.length > 0
}

/** Ends all sessions of a person except `keep`. @returns the number that had not expired */
export async function endSessions(tx: Tx, personId: string, keep: string | null): Promise<number> {
  const rows = await tx.query<{ hasExpired: boolean }>(sql`
    delete from sessions where person_id = ${personId} and session_id is distinct from ${keep}::uuid
    returning ${expired} as has_expired`)
  return rows.filter(({ hasExpired }) => !hasExpired).length
}

/** Ends the sessions that began with a sign-in at the provider. */
export function endSessionsOfProvider(tx: Tx, personId: string): void {
  tx.send(sql`delete from sessions where person_id = ${personId} and signed_in_by = 'PROVIDER'`)
}

export async function signOut(
  deps: { db: Db; ids: Ids },
  person: Pick<Person, 'personId' | 'tenantId'>,
  sessionId: string,
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    await endSession(tx, person.personId, sessionId)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, action: 'person.sign_out' })
  })
}

/**
 * Lets an operator's session see what a dealer's administrator sees, until it ends the view. Both the start and the end are
 * recorded where the dealer can see them.
 * @throws Refusal if the dealer does not exist
 */
export async function viewAsDealer(
  deps: { db: Db; ids: Ids },
  sessionId: string,
  tenantId: string,
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const rows = await tx.query(sql`
      update sessions set viewed_tenant_id = ${tenantId}
      where session_id = ${sessionId} and exists (select from tenants where tenant_id = ${tenantId}) returning 1`)
    if (rows.length === 0) throw notFound('tenant')
    audit(tx, deps.ids, { tenantId, ...by, action: 'person.view_as_dealer' })
  })
}

/** Ends a session’s view; does nothing without a view. */
export async function endView(deps: { db: Db; ids: Ids }, sessionId: string, by: By): Promise<void> {
  await deps.db.tx(async (tx) => {
    const [session] = await tx.query<{ tenantId: string }>(sql`
      select viewed_tenant_id as tenant_id from sessions
      where session_id = ${sessionId} and viewed_tenant_id is not null for update`)
    if (!session) return
    tx.send(sql`update sessions set viewed_tenant_id = null where session_id = ${sessionId}`)
    audit(tx, deps.ids, { tenantId: session.tenantId, ...by, action: 'person.end_view' })
  })
}

export function notSignedIn(): Refusal {
  return new Refusal(401, 'SIGNED_OUT', 'You are not signed in. Sign in and try again.')
}

const expired = sql`(expires_at < now() or seen_at < now() - ${IDLE_MAX}::interval)`
