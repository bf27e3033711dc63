import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isFree } from '@dealer-esim/lib/leases.ts'
import { CONNECTIONS, type MailOutcome, type MailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { LiveBrands } from '#brands/brand-source.ts'
import type { Config } from '#platform/config/config.ts'
import { claimJobs, type JobTable } from '#platform/jobs.ts'
import { inBrand } from './brand-mail.ts'
import { forgetOldTestMails, sealTestMail, TEST_SENDER } from './kept-mails.ts'
import type { MailText } from './mail-template.ts'

const MINUTE_MS = 60_000
/** Pauses after failed attempts. After the last one, about 27 hours after the e-mail was due, the gateway gives up. */
const RETRY_PAUSES_MS = [1, 5, 15, 60, 120, 240, 480, 720].map((minutes) => minutes * MINUTE_MS)
/** After a crash, claimed e-mails are sent when the lease ends. */
const LEASE_MS = 2 * MINUTE_MS
/** A node renews the lease this often until the mail server has answered, which may take longer than one lease. */
const RENEWAL_MS = LEASE_MS / 4

/** The mail loop's dependencies. */
export interface MailDeps {
  config: Pick<Config, 'operatorEmails' | 'mailFrom'> & Partial<Pick<Config, 'mode'>>
  db: Db
  ids: Ids
  cipher: Cipher
  databaseClock: DatabaseClock
  log: Log
  /** undefined: of test twins, whose e-mails are kept as they would be sent (kept-mails.ts), and never sent. */
  mailServer: MailServer | undefined
  /** Where the people of the test twins' dealers are; undefined: in the same schema as the e-mails. */
  people?: Pick<Db, 'query'>
  /** Those of the live dealers; of test twins only. */
  liveBrands?: LiveBrands | undefined
  /** Without a trailing slash. */
  consoleUrl(): string
}

interface ClaimedMail {
  tenantId: string
  mailId: string
  recipient: string
  kind: string
  content: Buffer
  attempts: number
}

/**
 * Sends due e-mails, each under a lease, at least once: if a node dies after sending an e-mail but before saving the
 * outcome, the e-mail is sent again with the same Message-ID. Claims only as many as are sent immediately, so that no e-mail
 * waits under its lease. @returns the outcome of each, and whether there may be more
 */
export async function sendDueMails(deps: MailDeps): Promise<{ outcomes: string[]; more: boolean }> {
  const claimed = await claimJobs<ClaimedMail>(deps.db, MAILS, CONNECTIONS)
  if (claimed.length > 0) await failpoint('mail.claimed')
  const outcomes = await Promise.all(claimed.map((mail) => sendOne(deps, mail)))
  return { outcomes, more: claimed.length === CONNECTIONS }
}

/** Renews the lease of an e-mail until `work` ends. A renewal that fails is made up for by the next one. */
async function underLease<Result>({ db, log }: MailDeps, mail: ClaimedMail, work: () => Promise<Result>) {
  const { tenantId, mailId, attempts } = mail
  const renew = () =>
    db.query({
      name: 'mail-renew',
      text: `update mails set lease_until = now() + interval '1 millisecond' * ${LEASE_MS}
             where tenant_id = $1 and mail_id = $2 and attempts = $3 and lease_until is not null`,
      values: [tenantId, mailId, attempts],
    })
  const timer = setInterval(() => {
    renew().catch((error) => log.warn({ err: error, tenantId, mailId }, 'the lease of a mail was not renewed'))
  }, RENEWAL_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** The pause before an e-mail's next attempt; the first one is due immediately. */
const PAUSE_MS = `coalesce((array[${RETRY_PAUSES_MS}])[attempts], 0)`

export const MAILS: JobTable = {
  name: 'mail',
  table: 'mails',
  key: ['mail_id'],
  claimable: `due_at is not null and ${isFree('lease_until', LEASE_MS)}`,
  dueAt: 'due_at',
  longestWaitMs: PAUSE_MS,
  claim: `attempts = attempts + 1, lease_until = now() + interval '1 millisecond' * ${LEASE_MS}`,
  columns: 'job.tenant_id, job.mail_id, job.recipient, job.kind, job.content, job.attempts',
}

async function sendOne(deps: MailDeps, mail: ClaimedMail): Promise<string> {
  const { kept, ...outcome } = await underLease(deps, mail, () => attempt(deps, mail))
  await failpoint('mail.sent')
  const pauseMs = RETRY_PAUSES_MS[mail.attempts - 1]
  const over = outcome.kind === 'sent' || outcome.rejected || pauseMs === undefined
  // An e-mail to a traveller ends its send, too. `attempts = $3`: a node whose lease has expired must not overwrite the result of
  // a later attempt.
  await deps.db.query({
    name: 'mail-save',
    text: `with saved as (
             update mails set lease_until = null, failure = $4,
               due_at = case when $5 then null else now() + $6 * interval '1 millisecond' end,
               sent_at = case when $4::text is null then now() end,
               content = case when $5 then $7::bytea else content end
             where tenant_id = $1 and mail_id = $2 and attempts = $3
             returning tenant_id, mail_id, sent_at, due_at)
           update esim_sends s set send_status = case when saved.sent_at is null then 'FAILED' else 'SENT' end,
             updated_at = clock_timestamp()
           from saved
           where s.tenant_id = $1 and s.send_id = $2 and s.send_id = saved.mail_id and saved.due_at is null
             and s.send_status = 'QUEUED'`,
    values: [
      mail.tenantId,
      mail.mailId,
      mail.attempts,
      outcome.kind === 'sent' ? null : outcome.message,
      over,
      pauseMs ?? 0,
      kept ?? null,
    ],
  })
  if (kept) await forgetOldTestMails(deps.db, mail.tenantId)
  const result = outcome.kind === 'sent' ? 'sent' : over ? 'given_up' : 'failed'
  const { mailId, kind, attempts } = mail
  // The recipient is left out: log readers need not know addresses.
  const line = { tenantId: mail.tenantId, mailId, kind, attempt: attempts, outcome: result }
  if (outcome.kind === 'sent') deps.log.info(line, 'mail')
  else deps.log.warn({ ...line, failure: withoutAddress(outcome.message, mail.recipient) }, 'mail')
  return result
}

async function attempt(
  { db, liveBrands, cipher, config, mailServer }: MailDeps,
  mail: ClaimedMail,
): Promise<MailOutcome & { kept?: Buffer }> {
  let content: MailText & { to?: string; brand?: string | null }
  try {
    content = JSON.parse(cipher.decrypt(mail.content, mail.tenantId).toString())
  } catch {
    return { kind: 'failed', message: 'its text cannot be decrypted', rejected: true }
  }
  const from = config.mailFrom ?? TEST_SENDER
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  const messageId = `<${mail.mailId}@${domain}>`
  const owner = { tenantId: content.to === undefined ? null : mail.tenantId, brand: content.brand ?? null }
  const branded = await inBrand({ db, liveBrands }, from, owner, content)
  const sent = { ...branded, to: content.to ?? mail.recipient, messageId }
  if (mailServer === undefined) return { kind: 'sent', kept: sealTestMail(cipher, mail.tenantId, sent) }
  const outcome = await mailServer.send(sent)
  // The answer of a mail server repeats the address, which is stored nowhere in plain text if it is a traveller's.
  if (outcome.kind === 'sent' || content.to === undefined) return outcome
  return { ...outcome, message: withoutAddress(outcome.message, content.to) }
}

/** Shorter texts are in other words, too. */
const NAMED_MIN = 3

/** Also its part before the @, which some servers name alone. */
function withoutAddress(message: string, address: string): string {
  const [user = ''] = address.split('@', 1)
  return [address, ...(user.length < NAMED_MIN ? [] : [user])].reduce(
    (text, part) => text.replaceAll(new RegExp(part.replaceAll(/[^A-Za-z0-9]/g, '\\$&'), 'gi'), '[recipient]'),
    message,
  )
}
