import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '../audit/audit.ts'
import { mailAddress } from '../config/parsers.ts'

/** The operator's settings in the console. Read on every use, so that a change applies to every node immediately. */
interface OperatorSettings {
  /** The requests per second that a new dealer may send; null: new dealers get no individual limit. */
  newDealerQpsLimit: number | null
  /** Recipients of the operator's alerts; if empty, those of OPERATOR_EMAIL. */
  alertEmails: string[]
  /** Dealers' administrators may create test twins. */
  twinsByDealers: boolean
}

export const ALERT_EMAILS_MAX = 20

export async function getOperatorSettings(db: Pick<Db | Tx, 'query'>): Promise<OperatorSettings> {
  const [row] = await db.query<OperatorSettings>(sql`
    select new_dealer_qps_limit, alert_emails, twins_by_dealers from operator_settings`)
  return row ?? { newDealerQpsLimit: null, alertEmails: [], twinsByDealers: true }
}

/** @throws Refusal that names the malformed addresses */
export async function setOperatorSettings(
  deps: { db: Db; ids: Ids },
  { newDealerQpsLimit, alertEmails: typed, twinsByDealers }: OperatorSettings,
  by: By,
): Promise<OperatorSettings> {
  const alertEmails = [...new Set(typed.map((address) => address.trim()).filter((address) => address !== ''))]
  const malformed = alertEmails.filter((address) => !isMailAddress(address))
  if (malformed.length > 0) {
    const names = malformed.map((address) => `“${address}”`).join(', ')
    const fault = `Enter one address per line, such as esim@example.com. Malformed: ${names}.`
    throw new Refusal(422, 'SETTING_INVALID', fault, { fields: { alertEmails: fault } })
  }
  const after = { newDealerQpsLimit, alertEmails, twinsByDealers }
  await deps.db.tx(async (tx) => {
    const before = await getOperatorSettings(tx)
    tx.send(sql`
      insert into operator_settings (new_dealer_qps_limit, alert_emails, twins_by_dealers)
      values (${newDealerQpsLimit}, ${alertEmails}, ${twinsByDealers})
      on conflict (singleton) do update
      set new_dealer_qps_limit = excluded.new_dealer_qps_limit, alert_emails = excluded.alert_emails,
          twins_by_dealers = excluded.twins_by_dealers`)
    audit(tx, deps.ids, { tenantId: null, action: 'operator.set_settings', before, after, ...by })
  })
  return after
}

/** Whom dealers ask, and how: shown wherever the console says that they can ask. */
export interface OperatorContact {
  /** As dealers know the operator; null: its legal name. */
  name: string | null
  email: string | null
  phone: string | null
  /** When somebody answers, such as `Mon–Sat 9–18 in Berlin`. */
  hours: string | null
}

/** The contact, and the legal name for where it has no name of its own. */
export async function getOperatorContact(
  db: Pick<Db | Tx, 'query'>,
): Promise<OperatorContact & { legalName: string | null }> {
  const [row] = await db.query<OperatorContact & { legalName: string | null }>(sql`
    select contact_name as name, contact_email as email, contact_phone as phone, contact_hours as hours,
           (select legal_name from operator_details) as legal_name
    from (values (true)) as one (singleton) left join operator_settings using (singleton)`)
  return row!
}

function isMailAddress(address: string): boolean {
  try {
    return mailAddress(address) === address
  } catch {
    return false
  }
}
