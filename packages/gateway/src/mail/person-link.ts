import type { Config } from '../config/config.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { LinkKind } from '../people/link.ts'
import { normalEmail } from '../people/person.ts'
import { queueMail } from './queue.ts'
import { linkMail } from './texts.ts'

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
