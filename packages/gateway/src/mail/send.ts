import type { MailOutcome } from '../lib/outbound/smtp.ts'
import type { Db } from '../lib/postgres/db.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { MailDeps } from './deps.ts'

const MINUTE_MS = 60_000
/** Pauses after each failed attempt; after the last one the mail is given up, a good day after it was due. */
const RETRIES_MS = [1, 5, 15, 60, 120, 240, 480, 720].map((minutes) => minutes * MINUTE_MS)
/** How long a claim holds: longer than the mail server's time limits together. What a crash held is sent after it. */
const LEASE_MS = 2 * MINUTE_MS
const SENT_MAX = 20

interface ClaimedMail {
  tenantId: string
  mailId: string
  recipient: string
  kind: string
  content: Buffer
  attempts: number
}

/**
 * Sends what is due, each mail under a lease. At least once: one that a node sent and could not mark, because it died,
 * goes out again under the same Message-ID. @returns what came of each; as many as SENT_MAX: there may be more
 */
export async function sendDueMails(deps: MailDeps): Promise<{ outcomes: string[]; more: boolean }> {
  const claimed = await claimDue(deps.db)
  if (claimed.length > 0) await failpoint('mail.claimed')
  const outcomes = await Promise.all(claimed.map((mail) => sendOne(deps, mail)))
  return { outcomes, more: claimed.length === SENT_MAX }
}

async function claimDue(db: Db): Promise<ClaimedMail[]> {
  const due = await db.query<{ tenantId: string; mailId: string }>({
    name: 'mail-due',
    text: `select tenant_id, mail_id from mails
           where due_at <= now() and (lease_until is null or lease_until < now()) order by due_at limit $1`,
    values: [SENT_MAX],
  })
  const claims = due.map(({ tenantId, mailId }) =>
    db.query<ClaimedMail>({
      name: 'mail-claim',
      text: `update mails set attempts = attempts + 1, lease_until = now() + $3 * interval '1 millisecond'
             where tenant_id = $1 and mail_id = $2 and due_at <= now() and (lease_until is null or lease_until < now())
             returning tenant_id, mail_id, recipient, kind, content, attempts`,
      values: [tenantId, mailId, LEASE_MS],
    }),
  )
  return (await Promise.all(claims)).flat()
}

async function sendOne(deps: MailDeps, mail: ClaimedMail): Promise<string> {
  const outcome = await attempt(deps, mail)
  await failpoint('mail.sent')
  const pauseMs = RETRIES_MS[mail.attempts - 1]
  const over = outcome.kind === 'sent' || outcome.rejected || pauseMs === undefined
  // Only what this attempt claimed: a node that was slow must not undo what another did since.
  await deps.db.query({
    name: 'mail-settle',
    text: `update mails set lease_until = null, failure = $4,
             due_at = case when $5 then null else now() + $6 * interval '1 millisecond' end,
             sent_at = case when $4::text is null then now() end,
             content = case when $5 then null else content end
           where tenant_id = $1 and mail_id = $2 and attempts = $3`,
    values: [
      mail.tenantId,
      mail.mailId,
      mail.attempts,
      outcome.kind === 'sent' ? null : outcome.message,
      over,
      pauseMs ?? 0,
    ],
  })
  const result = outcome.kind === 'sent' ? 'sent' : over ? 'given_up' : 'failed'
  const { mailId, kind, attempts } = mail
  // Without the recipient: a log is read by more people than an address book.
  const said = { tenantId: mail.tenantId, mailId, kind, attempt: attempts, outcome: result }
  if (outcome.kind === 'sent') deps.log.info(said, 'mail')
  else deps.log.warn({ ...said, words: withoutAddress(outcome.message, mail.recipient) }, 'mail')
  return result
}

async function attempt({ cipher, config, mailServer }: MailDeps, mail: ClaimedMail): Promise<MailOutcome> {
  let content: { subject: string; text: string }
  try {
    content = JSON.parse(cipher.decrypt(mail.content, mail.tenantId).toString())
  } catch {
    return { kind: 'failed', message: 'its text cannot be decrypted any more', rejected: true }
  }
  const from = config.mailFrom!
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  return mailServer.send({ from, to: mail.recipient, ...content, messageId: `<${mail.mailId}@${domain}>` })
}

function withoutAddress(words: string, recipient: string): string {
  return words.replaceAll(recipient, '[recipient]')
}
