import type { Config } from '../config/config.ts'
import type { Cipher } from '../lib/crypto.ts'
import { type Ids, NIL_TENANT } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { LinkKind } from '../people/link.ts'
import { normalEmail } from '../people/person.ts'
import { linkMail, type MailText } from './texts.ts'

export interface QueuedMail extends MailText {
  /** null: to one of the operator's people. */
  tenantId: string | null
  recipient: string
  kind: string
}

/** Queues an e-mail in the transaction that causes it; the mail loop sends it after the commit. */
export function queueMail(tx: Tx, deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> }, mail: QueuedMail): void {
  const tenantId = mail.tenantId ?? NIL_TENANT
  const content = deps.cipher.encrypt(JSON.stringify({ subject: mail.subject, text: mail.text }), tenantId)
  tx.send({
    text: `insert into mails (tenant_id, mail_id, recipient, kind, content, due_at) values ($1, $2, $3, $4, $5, now())`,
    values: [tenantId, deps.ids.uuid(), mail.recipient, mail.kind, content],
  })
}

export interface LinkMailDeps {
  config: Pick<Config, 'smtpUrl'>
  ids: Ids
  cipher: Pick<Cipher, 'encrypt'>
}

/**
 * Sends a person the link that was just made for them, where e-mail is configured.
 * @returns whether it will be sent; if not, whoever made the link hands it over
 */
export function mailPersonLink(
  tx: Tx,
  deps: LinkMailDeps,
  person: { tenantId: string | null; email: string; name: string },
  made: { kind: LinkKind; link: string },
): boolean {
  if (deps.config.smtpUrl === undefined) return false
  const { tenantId, name } = person
  const recipient = normalEmail(person.email)
  queueMail(tx, deps, { tenantId, recipient, kind: made.kind, ...linkMail(made.kind, { name, link: made.link }) })
  return true
}
