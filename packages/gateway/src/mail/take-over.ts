import { firstUuidAt } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { MailDeps } from './deps.ts'
import { queueMail } from './queue.ts'
import { recipientsOf } from './recipients.ts'
import { noticeMail } from './texts.ts'

const DAY_MS = 86_400_000
/** Notices of one pass. */
const TAKEN_MAX = 100
/** What is older is no news: after e-mail was configured, or was away for long, nobody gets a year's notices at once. */
const NEWS_MS = DAY_MS
/**
 * By e-mail, of one dealer's notices within a day. A dealer sets threshold and billing address by itself, as often as it
 * likes, and each time that the balance is below a new threshold is a notice: unbounded, the operator's mail server could be
 * made to write to anybody, all day. The console shows them all.
 */
const MAILS_PER_DAY_MAX = 100

/**
 * Takes notices over into mails, one for each recipient, each notice once. @returns whether there may be more.
 * Locks one notice at a time, of one tenant; of two nodes one gets it.
 */
export async function takeOverNotices(deps: MailDeps): Promise<boolean> {
  const rows = await unmailed(deps.db, firstUuidAt(deps.databaseClock.now() - NEWS_MS))
  for (const { tenantId, alertId } of rows) await deps.db.tx((tx) => takeOver(tx, deps, tenantId, alertId))
  return rows.length === TAKEN_MAX
}

function unmailed(db: Db, since: string) {
  return db.query<{ tenantId: string; alertId: string }>({
    name: 'mail-notices',
    text: `select tenant_id, alert_id from alerts where mailed_at is null and alert_id > $1
           order by alert_id limit $2`,
    values: [since, TAKEN_MAX],
  })
}

interface Taken {
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  message: string
}

async function takeOver(tx: Tx, deps: MailDeps, tenantId: string, noticeId: string): Promise<void> {
  const [notice] = await tx.query<Taken>({
    text: `update alerts set mailed_at = now() where tenant_id = $1 and alert_id = $2 and mailed_at is null
           returning kind, audience, message`,
    values: [tenantId, noticeId],
  })
  if (!notice) return
  const about = { tenantId, kind: notice.kind, audience: notice.audience }
  const { client, recipients } = await recipientsOf(tx, about, deps.config.operatorEmails)
  const room = notice.audience === 'OPERATOR' ? recipients.length : await roomOf(tx, deps, tenantId)
  const mail = noticeMail(notice, { client, consoleUrl: deps.consoleUrl() })
  for (const recipient of recipients.slice(0, room))
    queueMail(tx, deps, { tenantId, recipient, kind: notice.kind, ...mail })
  if (recipients.length > room)
    deps.log.warn(
      { tenantId, kind: notice.kind },
      'a notice is on the console only: the dealer had its mails of the day',
    )
  await failpoint('mail.taken-over')
}

/** How many mails of notices a dealer may still get today. Links are counted where they are made. */
async function roomOf(tx: Tx, deps: MailDeps, tenantId: string): Promise<number> {
  const had = await tx.query({
    text: `select 1 from mails
           where tenant_id = $1 and mail_id >= $2 and kind not in ('INVITATION', 'PASSWORD_RESET') limit $3`,
    values: [tenantId, firstUuidAt(deps.databaseClock.now() - DAY_MS), MAILS_PER_DAY_MAX],
  })
  return MAILS_PER_DAY_MAX - had.length
}
