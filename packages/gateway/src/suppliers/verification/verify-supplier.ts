import { setTimeout as delay } from 'node:timers/promises'
import { formatMoney, orderNoOf } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import type {
  BalanceOutcome,
  CancelOutcome,
  Outcome,
  Supplier,
  SupplierProduct,
  SupplierRequest,
} from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import sql from 'sql-template-tag'
import { audit, type By, NIL_TENANT } from '#platform/audit/audit.ts'
import { type ExchangeSink, type RecordedExchange, recordCalls } from '../recording/record-calls.ts'
import { redactExchanges } from '../recording/redact-recording.ts'
import { balanceOf, type ChargeFinding, chargeOf, isBuyingSince, proveCharge } from './prove-charge.ts'
import { lockBudgets } from './spend-limit.ts'

export interface VerifyDeps {
  db: Db
  ids: Ids
  wake: Pick<Wakeups<'settings'>, 'wake'>
}

export interface SupplierToVerify {
  supplier: Supplier
  /** The pause between two queries for an eSIM that has not been delivered yet. */
  pauseMs?: number
}

export interface Verification {
  verificationId: string
  orderId: string
  productCode: string
  cost: bigint
  currencyCode: string
  reference: string | null
}

/** How often an undelivered purchase is queried; this takes two minutes. */
const QUERIES_MAX = 24
const PAUSE_MS = 5_000

export interface Verified {
  /** false: the balance contradicts a charge. */
  isVerified: boolean
  iccid: string
  reference: string | undefined
  cancelled: CancelOutcome
  /** The comparison of the charge and the balance. */
  charge: ChargeFinding
}

/** The supplier, with a record of its requests and answers. */
interface VerifiedSupplier {
  supplier: Supplier
  exchanges: RecordedExchange[]
}

const EXCHANGES_MAX = 50
const ANSWER_MAX_BYTES = 16 * 1024

/** Keeps exchanges in memory until they have been saved. */
function sinkOf(exchanges: RecordedExchange[]): ExchangeSink {
  return {
    answerMaxBytes: ANSWER_MAX_BYTES,
    isOver: () => exchanges.length >= EXCHANGES_MAX,
    keep: async (exchange) => void exchanges.push(exchange),
  }
}

/** Finds what can be bought as a new eSIM. @throws Refusal */
export async function findProduct(supplier: Supplier, productCode: string): Promise<SupplierProduct> {
  if (supplier.catalogue === undefined)
    throw refusal(`${supplier.name} is not a wholesaler and does not need verification.`)
  for await (const product of readableProducts(supplier)) {
    if (product.productCode === productCode && product.packageType === 'BASE') return product
  }
  throw refusal(`${supplier.name} does not sell ${productCode} as a new eSIM. Its catalogue lists what it sells.`)
}

/** Finds a purchase with an unknown result, which is continued instead of making another purchase. */
export async function findOpenVerification(db: Pick<Db, 'query'>, supplier: string): Promise<Verification | undefined> {
  const [open] = await db.query<Verification>(sql`
    select verification_id, order_id, product_code, cost, currency_code, reference
    from supplier_verifications where supplier = ${supplier} and state = 'OPEN'`)
  return open
}

/**
 * Buys one eSIM, looks it up, and cancels it if the supplier supports that. The purchase is committed before the call; it
 * counts towards the daily spend limit. If everything succeeded, the supplier is verified on this gateway; a charge that
 * the balance contradicts also ends an earlier verification.
 * @param purchase the product to buy, or the open verification to continue
 * @throws Refusal if it is not verified; what may have been bought stays open, and the next call continues it
 */
export async function verifySupplier(
  deps: VerifyDeps,
  { supplier: unrecorded, pauseMs }: SupplierToVerify,
  purchase: SupplierProduct | Verification,
  by: By,
): Promise<Verified> {
  const exchanges: RecordedExchange[] = []
  const supplier = recordCalls(unrecorded, sinkOf(exchanges), deps.ids.uuid)
  const candidate = { supplier, exchanges }
  const isNew = !('verificationId' in purchase)
  const before = isNew ? await readBefore(deps.db, supplier) : undefined
  const open = isNew ? await begin(deps, supplier.name, purchase, by) : await reopen(deps, purchase)
  const { productCode, orderId } = open
  const request: SupplierRequest = { tenantId: NIL_TENANT, orderId, itemNo: 1, key: keyOf(open), productCode }
  let outcome = isNew ? await firstOutcome(supplier.order([request])) : await lookUp(supplier, request, open.reference)
  const isAnswered = isNew && !isOpen(outcome)
  for (let query = 1; isOpen(outcome) && query < QUERIES_MAX; query++) {
    await delay(pauseMs ?? PAUSE_MS)
    outcome = await lookUp(supplier, request, referenceOf(outcome) ?? open.reference)
  }
  const reference = referenceOf(outcome) ?? open.reference ?? undefined
  if (outcome.kind !== 'delivered') return endWithoutEsim(deps, candidate, open, { outcome, reference, isAnswered })
  const { iccid, matchingId } = outcome.esim
  const found = await lookUp(supplier, request, reference)
  if (found.kind !== 'delivered' || found.esim.iccid !== iccid) {
    const message = found.kind === 'delivered' ? 'another eSIM' : messageOf(found)
    await save(deps.db, candidate, open, { state: 'OPEN', reference })
    throw refusal(`The eSIM was bought, but looking it up returned: ${message}. Run the command again.`)
  }
  const charge = await findCharge(deps.db, supplier, open, { before, ordered: outcome, found })
  const cancelled = await supplier.cancel(
    { ...request, reference, iccid, matchingId, shown: false },
    open.verificationId,
  )
  const isVerified = charge.finding !== 'DIFFERS'
  await deps.db.tx(async (tx) => {
    const state = isVerified ? 'VERIFIED' : 'DIFFERS'
    await save(tx, candidate, open, { state, reference, cancelled: cancelled.kind, charge })
    tx.send(sql`
      update suppliers set verified_at = case when ${isVerified} then now() end, updated_at = now()
      where supplier = ${supplier.name}`)
    const after = { productCode, key: request.key, reference: reference ?? null, cancelled: cancelled.kind, charge }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.verify', subject: supplier.name, after })
  })
  deps.wake.wake('settings')
  return { isVerified, iccid, reference, cancelled, charge }
}

interface BalanceBefore {
  balance: BalanceOutcome
  /** The time before it was read, by the database's clock. */
  readAt: Date
}

async function readBefore(db: Pick<Db, 'query'>, supplier: Supplier): Promise<BalanceBefore> {
  const [clock] = await db.query<{ now: Date }>({ text: 'select clock_timestamp() as now' })
  return { balance: await balanceOf(supplier), readAt: clock!.now }
}

/** Reads the balance again before the eSIM is cancelled, and compares. */
async function findCharge(
  db: Pick<Db, 'query'>,
  supplier: Supplier,
  { cost, currencyCode }: Verification,
  { before, ordered, found }: { before: BalanceBefore | undefined; ordered: Outcome; found: Outcome },
): Promise<ChargeFinding> {
  const continued: BalanceOutcome = { kind: 'silent', message: 'the purchase began with an earlier command' }
  const after = before === undefined ? continued : await balanceOf(supplier)
  return proveCharge({
    before: before?.balance ?? continued,
    after,
    ordered: chargeOf(ordered),
    found: chargeOf(found),
    cost: { amount: cost, currencyCode },
    isConcurrent: before !== undefined && (await isBuyingSince(db, supplier.name, before.readAt)),
  })
}

/**
 * Records the purchase before it is sent.
 * @throws Refusal above the daily limit, or while an earlier purchase is open
 */
async function begin(deps: VerifyDeps, supplier: string, product: SupplierProduct, by: By): Promise<Verification> {
  const { productCode, cost, currencyCode } = product
  const ids = { verificationId: deps.ids.uuid(), orderId: deps.ids.uuid() }
  return deps.db.tx(async (tx) => {
    const [clock] = await tx.query<{ now: Date }>({ text: 'select clock_timestamp() as now' })
    const { now } = clock!
    await refuseInRecovery(tx)
    const budget = (await lockBudgets(tx, [supplier], now)).get(supplier)
    if (budget !== undefined && (budget.currencyCode !== currencyCode || budget.left < cost)) {
      const left = `${formatMoney(budget.left)} ${budget.currencyCode}`
      const price = `${formatMoney(cost)} ${currencyCode}`
      throw refusal(`The daily spend limit has ${left} left today, but ${productCode} costs ${price}.`)
    }
    const inserted = await tx.query({
      text: `insert into supplier_verifications (supplier, verification_id, order_id, product_code, cost, currency_code,
               state, started_at)
             values ($1, $2, $3, $4, $5, $6, 'OPEN', $7) on conflict do nothing returning supplier`,
      values: [supplier, ids.verificationId, ids.orderId, productCode, cost, currencyCode, now],
    })
    if (inserted.length === 0) throw refusal('Another verification of this supplier has begun. Run the command again.')
    const after = { productCode, key: keyOf(ids), cost: formatMoney(cost), currencyCode }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.buy_to_verify', subject: supplier, after })
    return { ...ids, productCode, cost, currencyCode, reference: null }
  })
}

/** A continued verification cancels the eSIM that it finds. @throws Refusal in recovery */
async function reopen({ db }: VerifyDeps, open: Verification): Promise<Verification> {
  await refuseInRecovery(db)
  return open
}

async function refuseInRecovery(db: Pick<Db, 'query'>): Promise<void> {
  const recovering = await db.query({ text: 'select from restores where recovering limit 1' })
  if (recovering.length > 0) throw refusal('The gateway is in recovery, and buys and cancels nothing: recovery show.')
}

/**
 * Ends a verification that has no eSIM. Only a definite answer closes it, so that a later verification does not buy a
 * second eSIM. While the purchase may still be executed, because it was accepted or not answered, a look-up that does not
 * find it is not definite.
 * @param result.isAnswered the purchase itself had an outcome other than `ordered` and `unknown`
 */
async function endWithoutEsim(
  { db }: VerifyDeps,
  candidate: VerifiedSupplier,
  open: Verification,
  result: { outcome: Exclude<Outcome, { kind: 'delivered' }>; reference: string | undefined; isAnswered: boolean },
): Promise<never> {
  const { outcome, reference, isAnswered } = result
  const isRefused = outcome.kind === 'refused' || outcome.kind === 'retry'
  const isDecided = isAnswered || !(await mayBeExecuted(db, candidate.supplier, open))
  const state = isRefused && isDecided ? 'REFUSED' : 'OPEN'
  await save(db, candidate, open, { state, reference })
  const message = messageOf(outcome)
  throw refusal(
    state === 'REFUSED'
      ? `Nothing was bought: ${message}.`
      : `The eSIM may have been bought: ${message}. Run the command again later: it will continue with ${keyOf(open)}.`,
  )
}

/**
 * Checks whether the purchase may still be executed. The database's clock decides, because it also timed the start: this
 * node's clock may be fast.
 */
async function mayBeExecuted(
  db: Pick<Db, 'query'>,
  { name, traits }: Supplier,
  { verificationId }: Verification,
): Promise<boolean> {
  const running = await db.query(sql`
    select from supplier_verifications where supplier = ${name} and verification_id = ${verificationId}
      and started_at >= clock_timestamp() - ${traits.timeoutMs + traits.graceMs} * interval '1 millisecond'`)
  return running.length > 0
}

async function save(
  tx: Pick<Tx, 'query'>,
  { supplier, exchanges }: VerifiedSupplier,
  { verificationId }: Verification,
  result: { state: string; reference: string | undefined; cancelled?: string; charge?: ChargeFinding },
): Promise<void> {
  const { state, reference, cancelled, charge } = result
  const kept = withStorableMessage({ reference, message: charge?.message })
  await tx.query({
    text: `update supplier_verifications set state = $3, reference = coalesce($4, reference), cancel_outcome = $5,
             answers = answers || $6::jsonb, charge_finding = $7, charge_message = $8, finished_at = case when $3 = 'OPEN' then null else now() end
           where supplier = $1 and verification_id = $2`,
    values: [
      ...[supplier.name, verificationId, state, kept.reference ?? null, cancelled ?? null],
      ...[JSON.stringify(redactExchanges(exchanges).exchanges), charge?.finding ?? null, kept.message ?? null],
    ],
  })
}

function keyOf({ orderId }: Pick<Verification, 'orderId'>): string {
  return `${orderNoOf(orderId)}-1`
}

async function lookUp(supplier: Supplier, request: SupplierRequest, reference: string | null | undefined) {
  return firstOutcome(supplier.query([{ ...request, reference: reference ?? undefined }], 'CHECK'))
}

async function firstOutcome(answering: Promise<Outcome[]>): Promise<Outcome> {
  try {
    const [outcome] = await answering
    return withStorableMessage(outcome!)
  } catch (error) {
    return { kind: 'unknown', message: String(error) }
  }
}

function isOpen({ kind }: Outcome): boolean {
  return kind === 'ordered' || kind === 'unknown'
}

function referenceOf(outcome: Outcome): string | undefined {
  return 'reference' in outcome ? outcome.reference : undefined
}

function messageOf(outcome: Outcome): string {
  return 'message' in outcome ? outcome.message : outcome.kind
}

function refusal(message: string): Refusal {
  return new Refusal(422, 'SUPPLIER_NOT_VERIFIED', message)
}
