import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import cookie from '@fastify/cookie'
import type { Config } from '#platform/config/config.ts'
import { findPerson, isOperator } from './person.ts'
import { findSession } from './session.ts'

/**
 * The cookie of a session. Browsers store cookies by host name, not by port, and gateways on one machine must not share one:
 * a local gateway's is `__Host-console-8080`.
 */
export function sessionCookieName({ deployment, consolePort, port }: CookieConfig): string {
  return deployment === 'local' ? `__Host-console-${consolePort || port}` : '__Host-console'
}

type CookieConfig = Pick<Config, 'deployment' | 'consolePort' | 'port'>

/**
 * Checks that a request for a page comes from a browser in which one of the operator's people is signed in. Reading a page
 * does not extend the session.
 * @param cookies the header `Cookie`
 */
export async function isSignedInOperator(
  { db, config }: { db: Db; config: CookieConfig },
  cookies: string | undefined,
): Promise<boolean> {
  const token = cookie.parse(cookies ?? '')[sessionCookieName(config)]
  const session = token ? await findSession(db, token, { prolong: false }) : undefined
  const person = session && session.viewedTenantId === null ? await findPerson(db, session.personId) : undefined
  return person?.status === 'ACTIVE' && isOperator(person.role)
}
