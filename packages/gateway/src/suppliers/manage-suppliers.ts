import { CURRENCY_ADVICE, findFraction, isCurrency, isTestAppKey, parseMoney } from '@dealer-esim/contract'
import { type Cipher, DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { MemberFault } from '@dealer-esim/lib/schema-faults.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import {
  ACCOUNT_MEMBERS,
  needsVerification,
  parseSupplierConfig,
  SUPPLIER_TYPES,
  SupplierConfigError,
  type SupplierType,
  secretMembers,
} from './create-supplier.ts'
import type { SeenState } from './state/see-supplier.ts'
import { beginSeen, forgetSeen, SEEN_COLUMNS, type SeenColumns, seenStateOf } from './state/see-supplier.ts'
import { readSpent } from './verification/spend-limit.ts'

export interface ManageDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  wake: Pick<Wakeups<'settings' | 'fulfilment'>, 'wake'>
  config: { deployment: string }
}

export interface SupplierSummary {
  name: string
  type: SupplierType
  paused: boolean
  /** VERIFICATION_PENDING, or null: nothing to report. */
  status: string | null
  verifiedAt: Date | null
  /** The charge that the balance contradicted at the latest verification; null: none. */
  verificationFault: string | null
  /** The last observation of it. */
  seen: SeenState
  dailySpend: DailySpend | null
  createdAt: Date
  updatedAt: Date
}

/** A daily spend limit and the amount spent on this UTC day, in 1/10 000. */
export interface DailySpend {
  limit: bigint
  spent: bigint
  currencyCode: string
}

export const VERIFICATION_PENDING = 'Written from public documentation; not yet verified against a live account'

/** The types of suppliers that a gateway can have. */
export function allowedTypes({ deployment }: ManageDeps['config']): SupplierType[] {
  return SUPPLIER_TYPES.filter((type) => type !== 'sandbox' || deployment !== 'production')
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** Adds a supplier. Its configuration is checked, and stored encrypted. @throws Refusal */
export async function addSupplier(
  deps: ManageDeps,
  input: { name: string; type: string; config: unknown },
  by: By,
): Promise<void> {
  const { name } = input
  const type = SUPPLIER_TYPES.find((known) => known === input.type)
  if (!NAME.test(name)) throw invalid('The name must have 1 to 64 letters, digits, dots, hyphens and underscores.')
  if (type === undefined) throw invalid(`The type must be one of ${SUPPLIER_TYPES.join(', ')}.`)
  if (!allowedTypes(deps.config).includes(type)) {
    throw invalid('A production gateway cannot have a sandbox supplier: its eSIMs are for tests only.')
  }
  const config = checkConfig(type, input.config)
  refuseTwin(deps, type, config)
  const limit = spendLimitOf(type, config, null)
  await deps.db.tx(async (tx) => {
    const added = await tx.query({
      text: `insert into suppliers (supplier, type, config, spend_limit, spend_currency) values ($1, $2, $3, $4, $5)
             on conflict do nothing returning supplier`,
      values: [name, type, encryptConfig(deps, name, config), limit?.amount ?? null, limit?.currencyCode ?? null],
    })
    if (added.length === 0) throw new Refusal(409, 'SUPPLIER_EXISTS', `A supplier named ${name} already exists.`)
    beginSeen(tx, name)
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.add', subject: name, after: { type } })
  })
  deps.wake.wake('settings')
}

/**
 * Replaces a supplier's configuration. The audit log contains the names of the changed members, never their values.
 * @param input.keepSecrets secrets missing from `config` stay as they are
 * @throws Refusal, also if the new configuration may be for a different account while items of the old one are unresolved
 */
export async function setSupplier(
  deps: ManageDeps,
  input: { name: string; config: Record<string, unknown>; keepSecrets?: boolean },
  by: By,
): Promise<void> {
  const { name } = input
  await deps.db.tx(async (tx) => {
    const row = await lock(tx, name)
    // A configuration that cannot be decrypted is replaced entirely, and counts as another account's.
    const before = decryptConfig(deps, name, row.config) ?? {}
    const kept = input.keepSecrets ? keptSecrets(row.type, before, input.config) : {}
    const config = checkConfig(row.type, { ...input.config, ...kept }) as Record<string, unknown>
    refuseTwin(deps, row.type, config)
    const members = [...new Set([...Object.keys(before), ...Object.keys(config)])]
    const changed = members.filter((member) => JSON.stringify(before[member]) !== JSON.stringify(config[member]))
    const isOtherAccount = changed.some((member) => ACCOUNT_MEMBERS.includes(member))
    if (isOtherAccount) await refuseOpenAccount(tx, name, row)
    const verifiedAt = isOtherAccount ? null : row.verifiedAt
    const limit = spendLimitOf(row.type, config, verifiedAt)
    tx.send({
      text: `update suppliers set config = $2, spend_limit = $3, spend_currency = $4, verified_at = $5, updated_at = now()
             where supplier = $1`,
      values: [name, encryptConfig(deps, name, config), limit?.amount ?? null, limit?.currencyCode ?? null, verifiedAt],
    })
    if (changed.length > 0) forgetSeen(tx, name)
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'supplier.set', subject: name, after: { changed } })
  })
  deps.wake.wake('settings')
}

/**
 * A production gateway must not sell eSIMs of a test twin of another gateway. An account whose AppKey does not show that it is
 * one is found by its mode before anything is asked of it.
 */
function refuseTwin({ config: { deployment } }: ManageDeps, type: SupplierType, config: unknown): void {
  if (deployment !== 'production' || type !== 'gateway') return
  if (!isTestAppKey((config as { appKey: string }).appKey)) return
  const reason = 'This is the AppKey of a test twin. Enter that of the live account.'
  throw invalid('A production gateway cannot buy with a test twin: no network accepts its eSIMs.', { appKey: reason })
}

/** @throws Refusal if a supplier that is not verified has no limit */
function spendLimitOf(type: SupplierType, config: unknown, verifiedAt: Date | null) {
  const { dailySpendLimit: limit } = config as { dailySpendLimit?: { amount: string; currencyCode: string } }
  if (limit !== undefined) return { amount: parseMoney(limit.amount), currencyCode: limit.currencyCode }
  if (verifiedAt !== null || !needsVerification(type)) return undefined
  throw invalid(
    `A supplier of type ${type} needs dailySpendLimit (an amount and a currency) until a purchase has verified the supplier.`,
    {
      'dailySpendLimit.amount': 'Enter the maximum to be spent there per day, such as 100.00.',
      'dailySpendLimit.currencyCode': 'Enter the currency of the limit, such as USD.',
    },
  )
}

/**
 * The stored secrets that a new configuration keeps.
 * @throws Refusal if they would be sent to a different address, which may belong to somebody who wants to steal them
 */
function keptSecrets(
  type: SupplierType,
  before: Record<string, unknown>,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const kept = secretMembers(type).filter((member) => config[member] === undefined && before[member] !== undefined)
  if (kept.length > 0 && before.url !== config.url) {
    const again = 'Enter it again: secrets are not sent to a different address.'
    throw invalid(
      `Enter ${kept.join(' and ')} again: secrets are not sent to a different address.`,
      Object.fromEntries(kept.map((member) => [member, again])),
    )
  }
  return Object.fromEntries(kept.map((member) => [member, before[member]]))
}

/**
 * A supplier's configuration without its secrets, and the names of the secrets that are set. null: it cannot be read.
 * @throws Refusal
 */
export async function getSupplierConfig(
  deps: Pick<ManageDeps, 'db' | 'cipher'>,
  name: string,
): Promise<{ type: SupplierType; config: Record<string, unknown> | null; secrets: string[] }> {
  const [row] = await deps.db.query<Pick<SupplierRow, 'type' | 'config'>>(sql`
    select type, config from suppliers where supplier = ${name}`)
  if (row === undefined) throw notFound('supplier', name)
  const { type } = row
  const config = decryptConfig(deps, name, row.config)
  if (config === undefined) return { type, config: null, secrets: [] }
  const secrets = secretMembers(type).filter((member) => config[member] !== undefined)
  for (const member of secrets) delete config[member]
  return { type, config, secrets }
}

/** Longer than all nodes need to notice the pause and to commit the work that they had already begun. */
const PAUSED_MIN_S = 10

/**
 * Refuses a change of account while items of the old one are unresolved. A different account truthfully reports that it
 * never sold the old account's orders, so those in doubt would be bought a second time. Hence no item may be in doubt, or
 * become so before all nodes have the change. Nor would the new account report eSIMs that arrive after their refund, or
 * cancel eSIMs of the old one.
 */
async function refuseOpenAccount(tx: Tx, name: string, { paused, updatedAt }: SupplierRow): Promise<void> {
  const [row] = await tx.query<{ used: boolean; doubted: number; watched: number; isPauseEffective: boolean }>({
    text: `select exists (select from order_items where supplier = $1) as used,
             $2::timestamptz <= now() - $3 * interval '1 second' as is_pause_effective,
             (select count(*)::int from orders o join order_items i using (tenant_id, order_id)
              where (o.due_at is not null or o.order_status = 'UNDER_REVIEW') and i.supplier = $1
                and (i.item_status in ('ASKED', 'UNKNOWN') or i.item_status = 'REVIEW' and i.in_doubt_at is not null))
             -- Only an open attempt says that these are asked for (orders/lock-orders.ts, readAskedItems).
             + (select count(*)::int from orders o
                join supplier_attempts a on a.tenant_id = o.tenant_id and a.order_id = o.order_id
                  and a.lease_token = o.lease_token
                join order_items i on i.tenant_id = a.tenant_id and i.order_id = a.order_id and i.item_no = a.item_no
                where o.due_at is not null and a.supplier = $1 and a.finished_at is null
                  and a.operation in ('ORDER', 'TOPUP') and i.item_status = 'WAITING') as doubted,
             (select count(*)::int from watched_items where supplier = $1 or other_suppliers ? $1)
             + (select count(*)::int from esim_actions
                where supplier = $1 and action_status in ('PENDING', 'UNDER_REVIEW'))
             + (select count(*)::int from orphans where supplier = $1 and state = 'FOUND') as watched`,
    values: [name, updatedAt, PAUSED_MIN_S],
  })
  if (!row!.used && row!.watched + row!.doubted === 0) return
  const why = `Changing ${ACCOUNT_MEMBERS.join(' or ')} may select a different account, which does not know the orders placed so far.`
  const instead = 'Or add that account as a separate supplier and assign the packages to it.'
  if (!paused || !row!.isPauseEffective) {
    const first = `Pause ${name}, wait ${PAUSED_MIN_S} seconds, and try again.`
    throw new Refusal(409, 'SUPPLIER_IN_USE', `${why} ${first} ${instead}`)
  }
  if (row!.doubted > 0) {
    const first = `${row!.doubted} eSIMs of ${name} are in doubt and would be bought again. Resume the supplier until they are decided, or resolve them (order review).`
    throw new Refusal(409, 'SUPPLIER_IN_DOUBT', `${why} ${first} ${instead}`)
  }
  if (row!.watched > 0) {
    const what = `${row!.watched} eSIMs of ${name} are still re-checked or acted on: items resolved in doubt (for a month), open actions (resolve unanswered ones on the page of the eSIM), orphans. Wait until none is left.`
    throw new Refusal(409, 'SUPPLIER_IN_DOUBT', `${why} ${what} ${instead}`)
  }
}

/**
 * Pauses or resumes a supplier. A paused supplier gets no new requests: its orders go to the next supplier of their
 * package, or wait. Answers to requests that were already sent still count.
 * @throws Refusal
 */
export async function pauseSupplier(
  deps: ManageDeps,
  { name, paused }: { name: string; paused: boolean },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const row = await lock(tx, name)
    if (row.paused === paused) return
    tx.send(sql`update suppliers set paused = ${paused}, updated_at = now() where supplier = ${name}`)
    const action = paused ? 'supplier.pause' : 'supplier.resume'
    audit(tx, deps.ids, { tenantId: null, ...by, action, subject: name })
  })
  deps.wake.wake('settings')
  deps.wake.wake('fulfilment')
}

export async function listSuppliers(db: Pick<Db, 'query'>): Promise<SupplierSummary[]> {
  const rows = await db.query<ListedSupplier>({
    text: `select supplier as name, type, paused, verified_at, spend_limit, spend_currency, created_at, updated_at, now(),
             ${SEEN_COLUMNS},
             (select case when v.state = 'DIFFERS' then v.charge_message end from supplier_verifications v
              where v.supplier = s.supplier and v.state in ('VERIFIED', 'DIFFERS')
              order by v.started_at desc limit 1) as verification_fault
           from suppliers s left join supplier_states using (supplier) order by supplier`,
  })
  const limited = rows.filter(({ spendLimit }) => spendLimit !== null).map(({ name }) => name)
  const spent = limited.length === 0 ? new Map<string, bigint>() : await readSpent(db, limited, rows[0]!.now)
  return rows.map(({ spendLimit, spendCurrency, now: _, seenAt, seenBy, failure, failingSince, ...row }) => ({
    ...row,
    seen: seenStateOf({ seenAt, seenBy, failure, failingSince }),
    status: statusOf(row.type, row.verifiedAt),
    dailySpend:
      spendLimit === null
        ? null
        : { limit: spendLimit, spent: spent.get(row.name) ?? 0n, currencyCode: spendCurrency! },
  }))
}

type ListedSupplier = Omit<SupplierSummary, 'status' | 'dailySpend' | 'seen'> &
  SeenColumns & {
    spendLimit: bigint | null
    spendCurrency: string | null
    now: Date
  }

function statusOf(type: SupplierType, verifiedAt: Date | null): string | null {
  return verifiedAt === null && SUPPLIER_TYPES.includes(type) && needsVerification(type) ? VERIFICATION_PENDING : null
}

interface SupplierRow {
  type: SupplierType
  config: Buffer
  paused: boolean
  verifiedAt: Date | null
  /** When it was last paused, resumed or configured. */
  updatedAt: Date
}

async function lock(tx: Tx, name: string): Promise<SupplierRow> {
  const [row] = await tx.query<SupplierRow>(sql`
    select type, config, paused, verified_at, updated_at from suppliers where supplier = ${name} for no key update`)
  if (row === undefined) throw notFound('supplier', name)
  return row
}

function checkConfig(type: SupplierType, config: unknown): unknown {
  try {
    const parsed = parseSupplierConfig(type, config)
    const fault = findMoneyFault(parsed)
    if (fault !== undefined) throw invalid(`${fault.member}: ${fault.reason}`, { [fault.member]: fault.reason })
    return parsed
  } catch (error) {
    if (error instanceof SupplierConfigError) throw invalid(`${error.message}.`, error.fields)
    throw error
  }
}

/** @param fields what is wrong with each member of the configuration, for a form */
function invalid(message: string, fields?: Readonly<Record<string, string>>): Refusal {
  return new Refusal(422, 'SUPPLIER_INVALID', message, fields && { fields })
}

/** undefined: the gateway's master key cannot decrypt it. */
function decryptConfig(
  deps: Pick<ManageDeps, 'cipher'>,
  name: string,
  encrypted: Buffer,
): Record<string, unknown> | undefined {
  try {
    return JSON.parse(deps.cipher.decrypt(encrypted, supplierOwner(name)).toString())
  } catch (error) {
    if (error instanceof DecryptionFailed) return undefined
    throw error
  }
}

function encryptConfig(deps: ManageDeps, name: string, config: unknown): Buffer {
  return deps.cipher.encrypt(JSON.stringify(config), supplierOwner(name))
}

/** Checks the account's currency and the daily spend limit. */
function findMoneyFault(config: unknown): MemberFault | undefined {
  const { currencyCode, dailySpendLimit: limit } = config as MoneySettings
  if (currencyCode !== undefined && !isCurrency(currencyCode))
    return { member: 'currencyCode', reason: CURRENCY_ADVICE }
  if (limit === undefined) return undefined
  if (!isCurrency(limit.currencyCode)) return { member: 'dailySpendLimit.currencyCode', reason: CURRENCY_ADVICE }
  const fraction = findFraction(parseMoney(limit.amount), limit.currencyCode)
  return fraction === undefined ? undefined : { member: 'dailySpendLimit.amount', reason: fraction }
}

interface MoneySettings {
  currencyCode?: string
  dailySpendLimit?: { amount: string; currencyCode: string }
}
