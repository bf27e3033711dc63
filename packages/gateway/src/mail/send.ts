import type { Config } from '../config/config.ts'
import { claimJobs, type JobTable } from '../jobs/jobs.ts'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { MailOutcome, MailServer } from '../lib/outbound/smtp.ts'
import type { Db } from '../lib/postgres/db.ts'
import { failpoint } from '../lib/process/failpoint.ts'
import type { Log } from '../lib/telemetry/log.ts'

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
  const claimed = await claimJobs<ClaimedMail>(deps.db, MAILS, SENT_MAX)
  if (claimed.length > 0) await failpoint('mail.claimed')
  const outcomes = await Promise.all(claimed.map((mail) => sendOne(deps, mail)))
  return { outcomes, more: claimed.length === SENT_MAX }
}

const MAILS: JobTable = {
  name: 'mail',
  table: 'mails',
  key: ['mail_id'],
  claimable: 'due_at <= now() and (lease_until is null or lease_until < now())',
  dueAt: 'due_at',
  claim: `attempts = attempts + 1, lease_until = now() + interval '1 millisecond' * ${LEASE_MS}`,
  columns: 'job.tenant_id, job.mail_id, job.recipient, job.kind, job.content, job.attempts',
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
      outcome.kind === 'sent' ? null : outcome.words,
      over,
      pauseMs ?? 0,
    ],
  })
  const result = outcome.kind === 'sent' ? 'sent' : over ? 'given_up' : 'failed'
  const { mailId, kind, attempts } = mail
  // Without the recipient: a log is read by more people than an address book.
  const said = { tenantId: mail.tenantId, mailId, kind, attempt: attempts, outcome: result }
  if (outcome.kind === 'sent') deps.log.info(said, 'mail')
  else deps.log.warn({ ...said, words: withoutAddress(outcome.words, mail.recipient) }, 'mail')
  return result
}

async function attempt({ cipher, config, mailServer }: MailDeps, mail: ClaimedMail): Promise<MailOutcome> {
  let content: { subject: string; text: string }
  try {
    content = JSON.parse(cipher.decrypt(mail.content, mail.tenantId).toString())
  } catch {
    return { kind: 'failed', words: 'its text cannot be decrypted any more', rejected: true }
  }
  const from = config.mailFrom!
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  return mailServer.send({ from, to: mail.recipient, ...content, messageId: `<${mail.mailId}@${domain}>` })
}

function withoutAddress(words: string, recipient: string): string {
  return words.replaceAll(recipient, '[recipient]')
}

/** What the mail loop works with. */
export interface MailDeps {
  config: Pick<Config, 'operatorEmails' | 'mailFrom'>
  db: Db
  ids: Ids
  cipher: Cipher
  databaseClock: DatabaseClock
  log: Log
  mailServer: MailServer
  /** Where the console is, without a slash at its end. */
  consoleUrl(): string
}
