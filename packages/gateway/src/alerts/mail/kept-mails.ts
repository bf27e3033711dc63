import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Mail } from '@dealer-esim/lib/outbound/smtp.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/*
 * The e-mails of a test twin are written as those of a live dealer, and kept in their rows instead of being sent: in `content`,
 * which is empty for every other e-mail that was sent. A reset deletes the rows, retention too.
 */

/** The sender where MAIL_FROM is not set. No mail reaches it. */
export const TEST_SENDER = 'eSIM <esim@mail.sandbox.invalid>'

/** The newest e-mails of a twin keep their text. */
const TEST_MAILS_MAX = 50

export interface TestMail {
  mailId: string
  /** `DELIVERY`, `SHARE_LINK`, or the kind of an alert. */
  kind: string
  /** `Lotus Travel <esim@example.com>` */
  from: string
  to: string
  replyTo: string | null
  subject: string
  text: string
  /** With its pictures, as a page of its own. */
  html: string
  sentAt: Date
}

type StoredMail = Omit<TestMail, 'mailId' | 'kind' | 'sentAt'>

/** Encrypts an e-mail as it would have been sent, under its twin as all of its e-mails are. */
export function sealTestMail(cipher: Pick<Cipher, 'encrypt'>, tenantId: string, mail: Mail): Buffer {
  const { from, to, replyTo = null, subject, text } = mail
  const sender = typeof from === 'string' ? from : `${from.name} <${from.address}>`
  const stored: StoredMail = { from: sender, to, replyTo, subject, text, html: withPictures(mail) }
  return cipher.encrypt(JSON.stringify(stored), tenantId)
}

/** Replaces `cid:qr` by the picture itself. */
function withPictures({ html, inline = [] }: Mail): string {
  return inline.reduce(
    (page, { cid, content, contentType }) =>
      page.replaceAll(`cid:${cid}"`, `data:${contentType};base64,${content.toString('base64')}"`),
    html,
  )
}

interface MailRow {
  mailId: string
  kind: string
  content: Buffer
  sentAt: Date
}

/** The newest first. */
export async function listTestMails(
  { db, cipher }: { db: Pick<Db, 'query'>; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
): Promise<TestMail[]> {
  const rows = await db.query<MailRow>({
    text: `select mail_id, kind, content, sent_at from mails
           where tenant_id = $1 and sent_at is not null and content is not null order by sent_at desc, mail_id desc limit $2`,
    values: [tenantId, TEST_MAILS_MAX],
  })
  return rows.map((row) => openMail(cipher, tenantId, row))
}

/** @throws Refusal if there is no such e-mail, or its text is kept no longer */
export async function getTestMail(
  { db, cipher }: { db: Pick<Db, 'query'>; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
  mailId: string,
): Promise<TestMail> {
  const [row] = await db.query<MailRow>(sql`
    select mail_id, kind, content, sent_at from mails
    where tenant_id = ${tenantId} and mail_id = ${mailId} and sent_at is not null and content is not null`)
  if (row === undefined) throw notFound('e-mail', mailId)
  return openMail(cipher, tenantId, row)
}

function openMail(cipher: Pick<Cipher, 'decrypt'>, tenantId: string, { content, ...row }: MailRow): TestMail {
  return { ...row, ...(JSON.parse(cipher.decrypt(content, tenantId).toString()) as StoredMail) }
}

/** Deletes the texts of all but the newest. */
export async function forgetOldTestMails(db: Pick<Db, 'query'>, tenantId: string): Promise<void> {
  await db.query({
    name: 'mail-forget-old',
    text: `update mails set content = null
           where tenant_id = $1 and mail_id in (
             select mail_id from mails where tenant_id = $1 and sent_at is not null and content is not null
             order by sent_at desc, mail_id desc offset $2)`,
    values: [tenantId, TEST_MAILS_MAX],
  })
}
