import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { normalEmail } from '#people/person.ts'
import type { LinkKind } from '#people/personal-link.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import type { MailReader, MailText } from './mail-template.ts'
import { linkMail, passkeyMail } from './mail-texts.ts'

export interface QueuedMail extends MailText {
  /** null: addressed to the operator's staff. */
  tenantId: string | null
  recipient: string
  kind: string
}

/** Queues an e-mail in the transaction that causes it; the mail loop sends it after the commit. */
export function queueMail(tx: Tx, deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> }, mail: QueuedMail): void {
  const tenantId = mail.tenantId ?? NIL_TENANT
  const content = deps.cipher.encrypt(
    JSON.stringify({ subject: mail.subject, text: mail.text, html: mail.html, parts: mail.parts }),
    tenantId,
  )
  insertMail(tx, { tenantId, mailId: deps.ids.uuid(), recipient: mail.recipient, kind: mail.kind, content })
}

/**
 * Queues an e-mail to a traveller. Its address is encrypted with its text, so the recipient names nobody. The e-mail has the id
 * of its send, so that a send has one e-mail at most.
 * @param mail.brand that was asked for; null: the dealer's default one
 */
export function queueTravellerMail(
  tx: Tx,
  deps: { cipher: Pick<Cipher, 'encrypt'> },
  mail: MailText & { tenantId: string; sendId: string; kind: string; email: string; brand: string | null },
): void {
  const { tenantId, sendId, kind, email: to, ...content } = mail
  const sealed = deps.cipher.encrypt(JSON.stringify({ ...content, to }), tenantId)
  insertMail(tx, { tenantId, mailId: sendId, recipient: TRAVELLER, kind, content: sealed })
}

/** What stands in the place of the address, which nobody may read in the table. */
const TRAVELLER = 'traveller'

function insertMail(
  tx: Tx,
  mail: { tenantId: string; mailId: string; recipient: string; kind: string; content: Buffer },
): void {
  tx.send({
    text: `insert into mails (tenant_id, mail_id, recipient, kind, content, due_at) values ($1, $2, $3, $4, $5, now())`,
    values: [mail.tenantId, mail.mailId, mail.recipient, mail.kind, mail.content],
  })
}

export interface LinkMailDeps {
  config: Pick<Config, 'smtpUrl'>
  ids: Ids
  cipher: Pick<Cipher, 'encrypt'>
}

/**
 * Queues an e-mail with an invitation or password link, if e-mail is configured.
 * @param about.language of the request that causes it, such as an inviter's; for a person who has chosen none
 * @returns false if e-mail is not configured: the person who created the link must pass it on
 */
export function mailPersonLink(
  tx: Tx,
  deps: LinkMailDeps,
  person: { tenantId: string | null; email: string; name: string } & Partial<MailReader>,
  { kind, link, language }: { kind: LinkKind; link: string; language?: string },
): boolean {
  if (deps.config.smtpUrl === undefined) return false
  const { tenantId, name } = person
  const recipient = normalEmail(person.email)
  queueMail(tx, deps, { tenantId, recipient, kind, ...linkMail(kind, { name, link }, readerOf(person, language)) })
  return true
}

/** Notifies a person of a new passkey, if e-mail is configured, because a stranger may have added it. */
export function mailNewPasskey(
  tx: Tx,
  deps: LinkMailDeps,
  person: { tenantId: string | null; email: string } & MailReader,
  about: { name: string; accountUrl: string; language: string },
): void {
  if (deps.config.smtpUrl === undefined) return
  const { tenantId, email: recipient } = person
  queueMail(tx, deps, {
    tenantId,
    recipient,
    kind: 'PASSKEY_ADDED',
    ...passkeyMail(about, readerOf(person, about.language)),
  })
}

function readerOf({ language, timeZone }: Partial<MailReader>, otherwise: string | undefined): MailReader {
  return { language: language ?? otherwise ?? null, timeZone: timeZone ?? null }
}
