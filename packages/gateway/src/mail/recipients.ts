import sql from 'sql-template-tag'
import type { Tx } from '../lib/postgres/db.ts'

/** No notice goes to more people than this. */
const RECIPIENTS_MAX = 20

/**
 * Who gets a notice by e-mail. Of money: the tenant's billing address, else its administrators. Of the rest: its
 * administrators, else the billing address. The operator's: OPERATOR_EMAIL, else the operator's own people that may act.
 * Whoever has not taken an invitation yet gets none: its address may be mistyped, and somebody else's.
 */
export async function recipientsOf(
  tx: Tx,
  notice: { tenantId: string; kind: string; audience: 'OPERATOR' | 'TENANT' },
  operatorEmails: readonly string[],
): Promise<{ client: string; recipients: string[] }> {
  if (notice.audience === 'OPERATOR') {
    if (operatorEmails.length > 0) return { client: '', recipients: [...operatorEmails] }
    const people = await tx.query<{ email: string }>(sql`
      select email from people where tenant_id is null and status = 'ACTIVE' and password_hash is not null
        and role in ('OPERATOR_ADMIN', 'OPERATOR_STAFF') order by person_id limit ${RECIPIENTS_MAX}`)
    return { client: '', recipients: people.map((person) => person.email) }
  }
  const [[tenant], administrators] = await Promise.all([
    tx.query<{ client: string; billing: string | null }>(sql`
      select tenant_name as client, billing_email as billing from tenants where tenant_id = ${notice.tenantId}`),
    tx.query<{ email: string }>(sql`
      select email from people
      where tenant_id = ${notice.tenantId} and status = 'ACTIVE' and password_hash is not null and role = 'DEALER_ADMIN'
      order by person_id limit ${RECIPIENTS_MAX}`),
  ])
  const billing = tenant?.billing ? [tenant.billing] : []
  const people = administrators.map((person) => person.email)
  const [first, second] = notice.kind === 'LOW_BALANCE' ? [billing, people] : [people, billing]
  return { client: tenant?.client ?? '', recipients: first.length > 0 ? first : second }
}
