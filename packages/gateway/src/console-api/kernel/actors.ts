import sql from 'sql-template-tag'
import type { Context } from './route.ts'

/** What a dealer's people see in place of an operator's person, a command line's user or the system. */
export const OPERATOR = 'Operator'

/**
 * Readable names of actors (`person:<id>`, `cli:<os user>`, `system`, `tenant`). A dealer's people are told the names
 * of their own organisation only.
 */
export async function actorNames(
  { deps, onlyTenant }: Pick<Context, 'deps' | 'onlyTenant'>,
  actors: readonly (string | null)[],
): Promise<(actor: string | null) => string | null> {
  const ids = [...new Set(actors)].flatMap((actor) => personOf(actor) ?? [])
  const people =
    ids.length === 0
      ? []
      : await deps.db.query<{ personId: string; tenantId: string | null; email: string }>(sql`
          select person_id, tenant_id, email from people where person_id = any(${ids}::uuid[])`)
  const names = new Map(people.map((person) => [`person:${person.personId}`, person]))
  return (actor) => {
    if (actor === null || actor === 'tenant') return actor === null ? null : 'API'
    const person = names.get(actor)
    if (onlyTenant !== null && person?.tenantId !== onlyTenant) return OPERATOR
    return person?.email ?? actor
  }
}

/** The person that an actor is; null: something else. */
export function personOf(actor: string | null): string | null {
  return actor?.startsWith('person:') ? actor.slice('person:'.length) : null
}
