import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import sql from 'sql-template-tag'
import { normalEmail } from '#people/person.ts'
import { getOperatorSettings } from '#platform/deployment/operator-options.ts'
import { runJob } from '#platform/jobs.ts'
import { alertPath } from '../alert-path.ts'
import { queueMail } from './mail-queue.ts'
import type { MailReader } from './mail-template.ts'
import { alertMail } from './mail-texts.ts'
import type { MailDeps } from './send-mail.ts'

const DAY_MS = 86_400_000
/** The number of alerts that one pass queues. */
const ALERTS_MAX = 100
/**
 * Alerts older than this are not mailed. Otherwise an operator who sets up e-mail late would receive a year's alerts
 * together.
 */
const MAILED_WITHIN_MS = DAY_MS
/**
 * The maximum number of alert e-mails that a dealer receives per day. Dealers choose their balance threshold and billing
 * address, and each new threshold above the balance raises an alert: without a limit, a dealer could make the operator's
 * mail server write to anybody, all day. The console shows all alerts.
 */
const MAILS_PER_DAY_MAX = 100

/**
 * Queues an e-mail to each recipient of each new alert. Locks one alert at a time, so only one node queues its e-mails.
 * @returns whether there may be more
 */
export async function queueAlertMails(deps: MailDeps): Promise<boolean> {
  const rows = await listUnmailed(deps.db, firstUuidAt(deps.databaseClock.now() - MAILED_WITHIN_MS))
  let queued = 0
  for (const { tenantId, alertId } of rows) {
    await runJob(deps.log, 'alert mail', { tenantId, alertId }, async () => {
      await deps.db.tx((tx) => queueMails(tx, deps, tenantId, alertId))
      queued++
    })
  }
  return rows.length === ALERTS_MAX && queued > 0
}

function listUnmailed(db: Db, since: string) {
  return db.query<{ tenantId: string; alertId: string }>({
    name: 'mail-alerts',
    text: `select tenant_id, alert_id from alerts where mailed_at is null and alert_id > $1
           order by alert_id limit $2`,
    values: [since, ALERTS_MAX],
  })
}

interface Alert {
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  message: string
  data: Record<string, unknown>
}

async function queueMails(tx: Tx, deps: MailDeps, tenantId: string, alertId: string): Promise<void> {
  const [alert] = await tx.query<Alert>(sql`
    update alerts set mailed_at = now() where tenant_id = ${tenantId} and alert_id = ${alertId} and mailed_at is null
    returning kind, audience, message, data`)
  if (!alert) return
  const about = { tenantId, kind: alert.kind, audience: alert.audience }
  const { client, recipients } = await listRecipients(tx, deps, about)
  const limit = alert.audience === 'OPERATOR' ? recipients.length : await mailsLeftToday(tx, deps, tenantId)
  const to = { client, consoleUrl: deps.consoleUrl(), path: alertPath({ ...alert, tenantId }) }
  // An e-mail to the operator about a dealer does not belong to the dealer, so it does not count towards any limit.
  const owner = alert.audience === 'OPERATOR' ? null : tenantId
  for (const { email: recipient, language, timeZone } of recipients.slice(0, limit))
    queueMail(tx, deps, {
      tenantId: owner,
      recipient,
      kind: alert.kind,
      ...alertMail(alert, to, { language, timeZone }),
    })
  if (recipients.length > limit)
    deps.log.warn(
      { tenantId, kind: alert.kind },
      'an alert is shown in the console only: the dealer has reached its limit of mails per day',
    )
  await failpoint('mail.taken-over')
}

/** Kinds of e-mails that are not alerts. */
const OTHER_KINDS = ['INVITATION', 'PASSWORD_RESET', 'FORGOTTEN_PASSWORD', 'PASSKEY_ADDED', 'SHARE_LINK', 'DELIVERY']

/** How many alert e-mails the dealer may still receive today. */
async function mailsLeftToday(tx: Tx, deps: MailDeps, tenantId: string): Promise<number> {
  const mailed = await tx.query({
    text: `select 1 from mails
           where tenant_id = $1 and mail_id >= $2 and kind <> all ($3) limit $4`,
    values: [tenantId, firstUuidAt(deps.databaseClock.now() - DAY_MS), OTHER_KINDS, MAILS_PER_DAY_MAX],
  })
  return MAILS_PER_DAY_MAX - mailed.length
}

/** Alerts for the people who pay. */
const MONEY_ALERTS: ReadonlySet<string> = new Set(['LOW_BALANCE', 'TOP_UP_PAID', 'TOP_UP_DECLINED'])
interface Recipient extends MailReader {
  email: string
}

/** Maximum number of recipients of one alert. */
const RECIPIENTS_MAX = 20

/**
 * Lists who receives an alert by e-mail, in this order of preference. Alerts about money: the tenant's billing address, its
 * administrators. Other alerts to a tenant: its administrators, the billing address. The operator's alerts: the addresses
 * set in the console, OPERATOR_EMAIL, the operator's staff. People who have not accepted their invitation receive none,
 * because the address may be mistyped. Nor do people who muted this kind of alert.
 */
async function listRecipients(
  tx: Tx,
  { config, people: elsewhere }: Pick<MailDeps, 'config' | 'people'>,
  alert: { tenantId: string; kind: string; audience: 'OPERATOR' | 'TENANT' },
): Promise<{ client: string; recipients: Recipient[] }> {
  if (alert.audience === 'OPERATOR') {
    if (config.mode === 'TEST') return { client: '', recipients: [] } // operators get no alerts about test twins
    const { alertEmails } = await getOperatorSettings(tx)
    const addresses = alertEmails.length > 0 ? alertEmails : config.operatorEmails
    if (addresses.length > 0) return { client: '', recipients: await readersOf(tx, addresses) }
    const people = await tx.query<Recipient>(sql`
      select email, language, time_zone from people where tenant_id is null and status = 'ACTIVE' and ${accepted}
        and not ${alert.kind} = any(muted_alerts) and role in ('OPERATOR_ADMIN', 'OPERATOR_STAFF')
      order by person_id limit ${RECIPIENTS_MAX}`)
    return { client: '', recipients: people }
  }
  const peopleOf = elsewhere ? await liveIdOf(tx, alert.tenantId) : alert.tenantId
  const [[tenant], administrators] = await Promise.all([
    tx.query<{ client: string; billing: string | null }>(sql`
      select tenant_name as client, billing_email as billing from tenants where tenant_id = ${alert.tenantId}`),
    (elsewhere ?? tx).query<Recipient & { muted: boolean }>(sql`
      select email, language, time_zone, ${alert.kind} = any(muted_alerts) as muted from people
      where tenant_id = ${peopleOf} and status = 'ACTIVE' and ${accepted} and role = 'DEALER_ADMIN'
      order by person_id limit ${RECIPIENTS_MAX}`),
  ])
  // The billing address is written to as the dealer's first administrator is.
  const [{ language, timeZone } = { language: null, timeZone: null }] = administrators
  const billing = tenant?.billing ? [{ email: tenant.billing, language, timeZone }] : []
  const people = administrators.filter((person) => !person.muted)
  const client = tenant?.client ?? ''
  if (MONEY_ALERTS.has(alert.kind)) return { client, recipients: billing.length > 0 ? billing : people }
  // Administrators who muted the alert do not want it at the billing address either.
  return { client, recipients: administrators.length > 0 ? people : billing }
}

/** Addresses that the operator has set, each as the operator's person with this address reads. */
async function readersOf(tx: Tx, addresses: readonly string[]): Promise<Recipient[]> {
  const people = await tx.query<Recipient>(sql`
    select email, language, time_zone from people where tenant_id is null and email = any (${addresses.map(normalEmail)})`)
  return addresses.map((email) => {
    const { language = null, timeZone = null } = people.find((person) => person.email === normalEmail(email)) ?? {}
    return { email, language, timeZone }
  })
}

async function liveIdOf(tx: Tx, twinId: string): Promise<string> {
  const [twin] = await tx.query<{ liveTenantId: string }>(sql`
    select live_tenant_id from twins where tenant_id = ${twinId}`)
  return twin!.liveTenantId
}

/** SQL: the person has chosen a password, or has signed in through the provider. */
const accepted = sql`(password_hash is not null or last_sign_in_at is not null)`
