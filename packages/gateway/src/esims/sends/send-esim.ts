import { type EsimStatus, formatTime, orderNoOf, type SendAnswer, type SmdpStatus } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import { queueTravellerMail } from '#alerts/mail/mail-queue.ts'
import type { BrandSource } from '#brands/brand-source.ts'
import { listUnknownBrands } from '#brands/list-brands.ts'
import type { Deps } from '#deps.ts'
import {
  countSentTo,
  DAY_MS,
  RECIPIENT_REASON,
  recipientKey,
  SENDS_PER_RECIPIENT_MAX,
  tooManySends,
} from '#orders/recipient-limit.ts'
import {
  isMailPossible,
  isSameAddress,
  type MailConfig,
  openTraveller,
  type SealedTraveller,
  sealTraveller,
  type Traveller,
} from '#orders/traveller.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { nowOfTenantRow } from '#platform/test-time.ts'
import { lockWallet, touchWallet } from '#wallet/ledger/lock-wallets.ts'
import { type EsimReference, findEsim, matchesReference } from '../actions/action-esim.ts'
import { findByTransactionId, type StoredSend } from '../actions/earlier-use.ts'
import { INSTALLABLE, SHARE_ALIVE, shareUrl } from '../qr/qr-link.ts'
import { composeMail } from './compose-mail.ts'

export interface SendDeps extends Pick<Deps, 'links' | 'linkKey' | 'ids' | 'liveBrands'> {
  db: Db
  config: MailConfig
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  databaseClock: { now(): number }
}

export interface SendInput extends EsimReference, Traveller {
  transactionId: string
  brand?: string | undefined
  /** Refuses an eSIM that was sent already, so that two people's lists do not give it to two travellers. */
  onlyUnsent?: boolean | undefined
}

const SEND_MAIL = 'SHARE_LINK'
/** Prevents a dealer from making the operator's mail server write to arbitrary people all day. */
export const SENDS_PER_DAY_MAX = 200

/**
 * Sends the link of an eSIM to its traveller, or returns what the transactionId has sent. Send and mail are written together,
 * under the wallet's lock, which guards the transactionIds of orders, actions and sends.
 *
 * @param by the dealer's person who sends it in the console, where the page of an installed eSIM is sent too
 * @throws ApiError 200012, 310403, 200018, 200019, 200002, 101007, in this order; Refusal before 101007 for `onlyUnsent`
 */
export async function sendEsim(
  deps: SendDeps,
  tenantId: string,
  input: SendInput,
  by?: By,
): Promise<{ answer: SendAnswer; isReplay: boolean }> {
  const sealed = sealTraveller(deps, tenantId, input)
  const { send, isReplay } = await deps.db.tx(async (tx) => {
    // Sent with the lock but executed after it: its snapshot shows what the transaction that held the lock has written.
    const [wallet, earlier] = await Promise.all([
      lockWallet(tx, tenantId),
      findByTransactionId(tx, tenantId, input.transactionId),
    ])
    if (earlier !== undefined) return { send: replay(deps, tenantId, earlier.send, input), isReplay: true }
    const esim = await findEsim(tx, tenantId, input)
    if (esim === undefined) throw new ApiError('310403')
    await refuseUnknownBrand({ db: tx, liveBrands: deps.liveBrands }, tenantId, input.brand)
    if (!isMailPossible(deps.config)) throw new ApiError('200019')
    const page = await findPage(tx, tenantId, esim.profileId)
    if (by === undefined ? !page.isInstallable : !page.isShared) throw new ApiError('200002', { data: stateOf(page) })
    if (input.onlyUnsent) await refuseSent(tx, tenantId, esim)
    await refuseTooMany(tx, deps, tenantId, sealed)
    touchWallet(tx, wallet)
    const sendId = deps.ids.uuid()
    const { now } = await insertSend(tx, tenantId, { sendId, input, esim, sealed, by, ...page })
    const link = shareUrl(deps.links.publicUrl, deps.linkKey, { tenantId, profileId: esim.profileId, ...page })
    const brand = input.brand ?? null
    const mail = await composeMail(tx, deps, { tenantId, profileId: esim.profileId, brand, link, traveller: input })
    queueTravellerMail(tx, deps, { tenantId, sendId, kind: SEND_MAIL, email: input.email.trim(), brand, ...mail })
    // Without the address: the log is read by more people, and kept for longer.
    const entry = {
      action: 'profile.send_share_link',
      subject: esim.profileId,
      after: { sendNo: orderNoOf(sendId) },
    } as const
    if (by !== undefined) audit(tx, deps.ids, { tenantId, ...by, ...entry })
    const { transactionId } = input
    const times = { createdAt: now, updatedAt: now }
    const { profileId, iccid } = esim
    const { traveller } = sealed
    const send: StoredSend = {
      ...{ sendId, transactionId, profileId, iccid, traveller, sendStatus: 'QUEUED', startedBy: null },
      ...times,
    }
    return { send, isReplay: false }
  })
  return { answer: { ...sendOf(send), transactionId: input.transactionId }, isReplay }
}

/** @throws ApiError 200018 */
async function refuseUnknownBrand(source: BrandSource, tenantId: string, brand: string | undefined): Promise<void> {
  if (brand === undefined) return
  const unknown = await listUnknownBrands(source, tenantId, [brand])
  if (unknown.length > 0) throw new ApiError('200018', { data: { brand } })
}

/** A send in answers, without the address. */
export function sendOf(send: Omit<StoredSend, 'iccid' | 'traveller'>) {
  return {
    sendNo: orderNoOf(send.sendId),
    transactionId: send.startedBy === null ? send.transactionId : null,
    esimTranNo: send.profileId,
    sendStatus: send.sendStatus,
    createTime: formatTime(send.createdAt),
    lastUpdateTime: formatTime(send.updatedAt),
  }
}

/**
 * Content is the eSIM and the address. Once the address is forgotten, the eSIM alone. The addresses themselves are compared,
 * because the cell that a dealer has come from made its hashes with another key.
 * @throws ApiError 200012
 */
function replay({ cipher }: SendDeps, tenantId: string, earlier: StoredSend | undefined, input: SendInput): StoredSend {
  if (earlier === undefined || !matchesReference(input, earlier)) throw new ApiError('200012')
  if (earlier.traveller === null) return earlier
  if (!isSameAddress(openTraveller(cipher, tenantId, earlier.traveller).email, input.email))
    throw new ApiError('200012')
  return earlier
}

interface Page {
  generation: number
  isShared: boolean
  isInstallable: boolean
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  suspended: boolean
}

async function findPage(tx: Tx, tenantId: string, profileId: string): Promise<Page> {
  const [page] = await tx.query<Page>(sql`
    select p.share_generation as generation, ${raw(SHARE_ALIVE)} as is_shared, ${raw(INSTALLABLE)} as is_installable,
           p.esim_status, p.smdp_status, p.suspended
    from profiles p
    where p.tenant_id = ${tenantId} and p.profile_id = ${profileId}`)
  return page!
}

function stateOf({ esimStatus, smdpStatus, suspended }: Page) {
  return { esimStatus, smdpStatus, suspended, actionNo: null, orderNo: null }
}

/** The send of an order whose eSIM has arrived but has not been sent yet counts too. @throws Refusal */
async function refuseSent(
  tx: Tx,
  tenantId: string,
  { orderId, itemNo }: { orderId: string; itemNo: number },
): Promise<void> {
  const sent = await tx.query(sql`
    select from esim_sends
    where tenant_id = ${tenantId} and order_id = ${orderId} and item_no = ${itemNo} and send_status <> 'FAILED' limit 1`)
  if (sent.length === 0) return
  const message = 'This eSIM has already been sent to a traveller. Send another eSIM to this one.'
  throw new Refusal(409, 'ALREADY_SENT', message)
}

/** In all, those of orders do not count: a dealer may sell more. @throws ApiError 101007 */
async function refuseTooMany(
  tx: Tx,
  deps: SendDeps,
  tenantId: string,
  { recipientHash }: SealedTraveller,
): Promise<void> {
  const now = deps.databaseClock.now()
  const recipient = { tenantId, recipientHash }
  const sentTo = await countSentTo(tx, [recipient], now)
  if ((sentTo.get(recipientKey(recipient)) ?? 0) >= SENDS_PER_RECIPIENT_MAX) throw tooMany(RECIPIENT_REASON)
  const [sent] = await tx.query<{ count: number }>(sql`
    select count(*)::int from esim_sends
    where tenant_id = ${tenantId} and send_id >= ${firstUuidAt(now - DAY_MS)} and transaction_id is not null`)
  if (sent!.count >= SENDS_PER_DAY_MAX) throw tooMany(`${SENDS_PER_DAY_MAX} links have already been sent within a day.`)
}

function tooMany(reason: string): ApiError {
  return new ApiError('101007', tooManySends(reason, 'copy the link and send it yourself'))
}

async function insertSend(
  tx: Tx,
  tenantId: string,
  send: {
    sendId: string
    input: SendInput
    esim: { profileId: string; orderId: string; itemNo: number }
    sealed: SealedTraveller
    by: By | undefined
    generation: number
  },
): Promise<{ now: Date }> {
  const { sendId, input, esim, sealed, by, generation } = send
  const [row] = await tx.query<{ now: Date }>(sql`
    insert into esim_sends (tenant_id, send_id, transaction_id, started_by, order_id, item_no, profile_id, share_generation,
      recipient_hash, traveller, brand, language, created_at, updated_at)
    select ${tenantId}, ${sendId}, ${input.transactionId}, ${by?.actor ?? null}, ${esim.orderId}, ${esim.itemNo},
      ${esim.profileId}, ${generation}, ${sealed.recipientHash}, ${sealed.traveller}, ${input.brand ?? null},
      ${input.language ?? null}, now.at, now.at
    from (select ${raw(nowOfTenantRow('t', "date_trunc('milliseconds', clock_timestamp())"))} as at
          from tenants t where t.tenant_id = ${tenantId}) now
    returning created_at as now`)
  return row!
}
