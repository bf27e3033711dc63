import type { Cipher } from '../lib/crypto.ts'
import { type Ids, NIL_TENANT } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { MailText } from './texts.ts'

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
