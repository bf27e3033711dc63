import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { firstUuidAt, type Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { queueMail } from '#alerts/mail/mail-queue.ts'
import { shareMail } from '#alerts/mail/mail-texts.ts'
import type { Deps } from '#deps.ts'
import { normalEmail } from '#people/person.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { lockTenant } from '#tenants/change-tenant.ts'
import { isEmailAddress } from '#tenants/tenant-settings.ts'
import { SHARE_ALIVE, shareUrl } from './qr-link.ts'

interface LinkDeps extends Pick<Deps, 'links' | 'linkKey'> {
  db: Db
  ids: Ids
}

interface ProfileKey {
  tenantId: string
  profileId: string
}

/** The kind under which these e-mails are counted. */
export const SHARE_LINK_MAIL = 'SHARE_LINK'
const DAY_MS = 86_400_000
/** Prevents a dealer from making the operator's mail server write to arbitrary people all day. */
export const SHARE_MAILS_PER_DAY_MAX = 200
/** Allows repeats for a traveller who cannot find the first e-mail. */
export const SHARE_MAILS_PER_RECIPIENT_MAX = 5

/**
 * The address of an eSIM's page for the traveller; null once the eSIM has ended. Anyone who has the address can install the
 * eSIM, so the audit entry is written in the same transaction.
 * @throws Refusal if the eSIM does not exist
 */
export async function viewShareLink(deps: LinkDeps, key: ProfileKey, by: By): Promise<string | null> {
  return deps.db.tx(async (tx) => {
    const { url } = await getLink(tx, deps, key)
    const { tenantId, profileId: subject } = key
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.view_share_link', subject })
    return url
  })
}

/**
 * Queues an e-mail to a traveller with the address of the eSIM's page. The gateway writes the text; the dealer chooses only
 * the recipient.
 * @throws Refusal without a mail server, beyond the daily limits, for an eSIM that has ended, or for a malformed address
 */
export async function sendShareLink(
  deps: LinkDeps & {
    config: Pick<Config, 'smtpUrl'>
    cipher: Pick<Cipher, 'encrypt'>
    databaseClock: { now(): number }
  },
  { email, ...key }: ProfileKey & { email: string },
  by: By,
): Promise<void> {
  const recipient = normalEmail(email)
  if (!isEmailAddress(recipient)) throw new Refusal(422, 'EMAIL_INVALID', `“${recipient}” is not an e-mail address.`)
  const { tenantId, profileId: subject } = key
  await deps.db.tx(async (tx) => {
    // Serializes the counts of one dealer.
    const { tenantName } = await lockTenant(tx, tenantId)
    const { url, packageName } = await getLink(tx, deps, key)
    if (deps.config.smtpUrl === undefined)
      throw new Refusal(
        409,
        'MAIL_NOT_CONFIGURED',
        'This gateway is not set up to send e-mail. Copy the link and send it yourself.',
      )
    if (url === null)
      throw new Refusal(409, 'ESIM_ENDED', 'This eSIM has ended, so it no longer has a page for the traveller.')
    await refuseTooMany(tx, tenantId, recipient, firstUuidAt(deps.databaseClock.now() - DAY_MS))
    const text = shareMail({ seller: tenantName, packageName, link: url })
    queueMail(tx, deps, { tenantId, recipient, kind: SHARE_LINK_MAIL, ...text })
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.send_share_link', subject, after: { recipient } })
  })
}

async function getLink(tx: Tx, deps: LinkDeps, key: ProfileKey): Promise<{ url: string | null; packageName: string }> {
  const [row] = await tx.query<{ generation: number; isShared: boolean; packageName: string }>(sql`
    select p.share_generation as generation, ${raw(SHARE_ALIVE)} as is_shared,
           o.package_lines -> i.line_no ->> 'packageName' as package_name
    from profiles p
    join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
    join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
    where p.tenant_id = ${key.tenantId} and p.profile_id = ${key.profileId}`)
  if (!row) throw notFound('eSIM')
  const { generation, isShared, packageName } = row
  const url = isShared ? shareUrl(deps.links.publicUrl, deps.linkKey, { ...key, generation }) : null
  return { url, packageName }
}

async function refuseTooMany(tx: Tx, tenantId: string, recipient: string, since: string): Promise<void> {
  const [sent] = await tx.query<{ all: number; toRecipient: number }>(sql`
    select count(*)::int as all, count(*) filter (where recipient = ${recipient})::int as to_recipient
    from mails where tenant_id = ${tenantId} and mail_id >= ${since} and kind = ${SHARE_LINK_MAIL}`)
  if (sent!.toRecipient >= SHARE_MAILS_PER_RECIPIENT_MAX)
    throw tooMany(`${SHARE_MAILS_PER_RECIPIENT_MAX} links have already been sent to this address within a day.`)
  if (sent!.all >= SHARE_MAILS_PER_DAY_MAX)
    throw tooMany(`${SHARE_MAILS_PER_DAY_MAX} links have already been sent within a day.`)
}

function tooMany(message: string): Refusal {
  return new Refusal(429, 'TOO_MANY_MAILS', `${message} Try again tomorrow, or copy the link and send it yourself.`)
}

/** Gives an eSIM a new shareUrl. From then on the old one is answered with 404. Audited. */
export async function renewShareLink(
  deps: { db: Db; ids: Ids },
  { tenantId, profileId }: { tenantId: string; profileId: string },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const renewed = await tx.query(sql`
      update profiles set share_generation = share_generation + 1, updated_at = greatest(clock_timestamp(), updated_at)
      where tenant_id = ${tenantId} and profile_id = ${profileId} returning 1`)
    if (renewed.length === 0) throw notFound('eSIM')
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.renew_share_link', subject: profileId })
  })
}
