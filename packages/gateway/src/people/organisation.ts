import sql from 'sql-template-tag'
import type { By } from '../audit/audit.ts'
import { NIL_TENANT } from '../audit/audit.ts'
import { firstUuidAt, type Ids, timeOfUuid } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'

/** People of one organisation, the disabled among them: a bound for lists, far above any dealer's staff. */
export const PEOPLE_MAX = 500
/** Each may be an e-mail by the operator's server, to any address. An organisation that opens with more people takes two days. */
const LINKS_PER_DAY_MAX = 50
const DAY_MS = 86_400_000

/**
 * Whether one more person fits into an organisation: the operator's (null), or a tenant's.
 * @throws Refusal ORGANISATION_FULL
 */
export async function roomForPerson(tx: Tx, tenantId: string | null): Promise<void> {
  await lockOrganisation(tx, tenantId)
  const [organisation] = await tx.query<{ people: bigint }>(sql`
    select count(*) as people from people where tenant_id is not distinct from ${tenantId}::uuid`)
  if ((organisation?.people ?? 0n) >= PEOPLE_MAX) {
    const text = `There are ${PEOPLE_MAX} people here, disabled ones included, and no more can be added. Enable somebody instead.`
    throw new Refusal(409, 'ORGANISATION_FULL', text)
  }
}

/**
 * Whether somebody on the console may make one more link today. The command line always may: it is how an organisation gets out
 * of this, and whoever has it could send mail anyway. Links replace one another, so they are counted in the audit log.
 * @throws Refusal TOO_MANY_LINKS
 */
export async function roomForLink(tx: Tx, ids: Ids, tenantId: string | null, by: By): Promise<void> {
  if (!by.actor.startsWith('person:')) return
  await lockOrganisation(tx, tenantId)
  const made = await tx.query(sql`
    select 1 from audit_log
    where tenant_id = ${tenantId ?? NIL_TENANT} and audit_id >= ${firstUuidAt(timeOfUuid(ids.uuid()) - DAY_MS)}
      and action in ('person.create', 'person.make_link') and starts_with(actor, 'person:')
    limit ${LINKS_PER_DAY_MAX}`)
  if (made.length < LINKS_PER_DAY_MAX) return
  const text = `${LINKS_PER_DAY_MAX} links were made here within a day. Go on tomorrow, or ask whoever runs the gateway.`
  throw new Refusal(429, 'TOO_MANY_LINKS', text)
}

/** Of several that are counted at once each sees the ones before. Taken after people's rows. */
async function lockOrganisation(tx: Tx, tenantId: string | null): Promise<void> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtext('people of an organisation'), hashtext((${tenantId ?? NIL_TENANT}::uuid)::text))`)
}
