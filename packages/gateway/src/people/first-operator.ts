import sql from 'sql-template-tag'
import { SYSTEM } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createPerson } from './manage.ts'

export const FIRST_OPERATOR = 'admin@localhost'

/**
 * On a fresh local deployment: makes the first operator.
 * @returns the password, which works until the first sign-in changes it; undefined once there is anybody
 */
export async function ensureFirstOperator(deps: { db: Db; ids: Ids }): Promise<string | undefined> {
  const oneTimePassword = deps.ids.bytes(12).toString('base64url')
  return deps.db.tx(async (tx) => {
    // Several nodes may start at once: the lock lets one of them create the person.
    await tx.query(sql`select pg_advisory_xact_lock(hashtext('people.first_operator'))`)
    const rows = await tx.query(sql`select 1 from people limit 1`)
    if (rows.length > 0) return undefined
    const person = { email: FIRST_OPERATOR, name: 'First operator', role: 'OPERATOR_ADMIN' as const, tenantId: null }
    await createPerson(tx, deps.ids, { ...person, oneTimePassword }, SYSTEM)
    return oneTimePassword
  })
}
