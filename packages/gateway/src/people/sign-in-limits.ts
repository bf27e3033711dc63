import { firstUuidAt, type Ids, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type By, NIL_TENANT } from '#platform/audit/audit.ts'

/**
 * The maximum number of people in an organisation, including disabled ones. Limits lists; far more than any dealer's staff.
 */
export const PEOPLE_MAX = 500
/** Each link may cause an e-mail from the operator's server to any address. Larger organisations need several days. */
const LINKS_PER_DAY_MAX = 50
const DAY_MS = 86_400_000

/**
 * Checks that one more person may be added to a tenant's organisation, or to the operator's (null).
 * @throws Refusal ORGANISATION_FULL
 */
export async function checkPeopleLimit(tx: Tx, tenantId: string | null): Promise<void> {
  await lockOrganisation(tx, tenantId)
  const [organisation] = await tx.query<{ people: bigint }>(sql`
    select count(*) as people from people where tenant_id is not distinct from ${tenantId}::uuid`)
  if ((organisation?.people ?? 0n) < PEOPLE_MAX) return
  const message = `An organisation can have up to ${PEOPLE_MAX} people, including disabled ones. Enable one of those instead.`
  throw new Refusal(409, 'ORGANISATION_FULL', message)
}

/**
 * Checks that one more link may be created today. The command line is exempt: it helps an organisation that has reached the
 * limit, and its users could send e-mail anyway. New links replace old ones, so they are counted in the audit log.
 * @throws Refusal TOO_MANY_LINKS
 */
export async function checkLinkLimit(tx: Tx, ids: Ids, tenantId: string | null, by: By): Promise<void> {
  if (!by.actor.startsWith('person:')) return
  await lockOrganisation(tx, tenantId)
  const created = await tx.query(sql`
    select 1 from audit_log
    where tenant_id = ${tenantId ?? NIL_TENANT} and audit_id >= ${firstUuidAt(timeOfUuid(ids.uuid()) - DAY_MS)}
      and action in ('person.create', 'person.make_link') and starts_with(actor, 'person:')
    limit ${LINKS_PER_DAY_MAX}`)
  if (created.length < LINKS_PER_DAY_MAX) return
  const message = `An organisation can create ${LINKS_PER_DAY_MAX} links a day. Continue tomorrow, or ask the operator.`
  throw new Refusal(429, 'TOO_MANY_LINKS', message)
}

/** Makes concurrent checks for one organisation wait for each other. Take this lock after those on people's rows. */
async function lockOrganisation(tx: Tx, tenantId: string | null): Promise<void> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtextextended(current_schema() || ' people of ' || ${tenantId ?? NIL_TENANT}::uuid, 0))`)
}
