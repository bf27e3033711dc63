import sql from 'sql-template-tag'
import type { Context } from './route.ts'

/** Shown to a dealer's people in place of the operator's people and users of the command line. */
export const OPERATOR_NAME = 'Operator'

/**
 * Returns a function that names actors (`person:<id>`, `cli:<os user>`, `system`, `tenant`, `unsigned`, `visitor`). A dealer's
 * people see only the names of their own organisation.
 */
export async function createActorNaming(
  { live, onlyTenant }: Pick<Context, 'live' | 'onlyTenant'>,
  actors: readonly (string | null)[],
): Promise<(actor: string | null) => string | null> {
  const ids = [...new Set(actors)].flatMap((actor) => personIdOf(actor) ?? [])
  const people =
    ids.length === 0
      ? []
      : await live.deps.db.query<{ personId: string; tenantId: string | null; email: string }>(sql`
          select person_id, tenant_id, email from people where person_id = any(${ids}::uuid[])`)
  const byActor = new Map(people.map((person) => [`person:${person.personId}`, person]))
  return (actor) => {
    if (actor === null) return null
    const name = NAMES.get(actor)
    if (name !== undefined) return name
    const person = byActor.get(actor)
    if (onlyTenant !== null && person?.tenantId !== live.tenantId) return OPERATOR_NAME
    return person?.email ?? actor
  }
}

/** Names of actors who are neither people nor hidden from dealers. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['tenant', 'API'],
  ['unsigned', 'API, unsigned'],
  ['visitor', 'Not signed in'],
  ['system', 'System'],
])

/** The id of the person behind an actor; null if it is not a person. */
export function personIdOf(actor: string | null): string | null {
  return actor?.startsWith('person:') ? actor.slice('person:'.length) : null
}
