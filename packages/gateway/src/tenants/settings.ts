import { formatMoney, MONEY_MAX, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import type { By } from '../audit/audit.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import { type LockedWallet, lockTenantWallet } from '../wallet/ledger/lock.ts'
import { alertLowBalance, lowBalanceStep } from '../wallet/ledger/low-balance.ts'
import { parseAllowlist } from './allowlist.ts'
import { changeTenant, lockTenant, type TenantDeps, type TenantRow } from './change.ts'

/** Settings as they are asked for. Absent: stays. null: cleared. */
export interface SettingsWish {
  clientName?: string
  /** Addresses and CIDR blocks in any spelling; empty: any address may call. */
  ipAllowlist?: readonly string[]
  /** null: the deployment's default. */
  qpsLimit?: number | null
  creditLimit?: bigint
  dailySpendLimit?: bigint | null
  lowBalanceThreshold?: bigint | null
  legalName?: string | null
  taxId?: string | null
  billingAddress?: string | null
  billingEmail?: string | null
}

export type Settings = Required<SettingsWish>

/**
 * Changes settings, all or nothing. The callback URL is not among them: it must prove its health first
 * (webhooks/endpoint/set-webhook.ts).
 * @returns the members that are different now, before and after
 * @throws Refusal with a sentence for every fault, or for a tenant that does not exist
 */
export async function changeSettings(
  deps: TenantDeps,
  typedId: string,
  wish: SettingsWish,
  by: By,
): Promise<{ before: Partial<Settings>; after: Partial<Settings> }> {
  const wanted = checkSettings(wish)
  return changeTenant(deps, typedId, by, async (tx, tenantId) => {
    // Lock order: wallets before everything else. An order sees all of a change or nothing of it.
    const wallet = await lockTenantWallet(tx, tenantId)
    const tenant = await lockTenant(tx, tenantId)
    const current = currentSettings(tenant, wallet)
    const next = { ...current, ...wanted }
    const changed = (Object.keys(next) as (keyof Settings)[]).filter((key) => !same(current[key], next[key]))
    const before = pick(current, changed)
    const after = pick(next, changed)
    if (changed.length === 0) return { entry: undefined, result: { before, after } }
    writeTenant(tx, tenantId, next)
    if (changed.some((key) => WALLET_MEMBERS.has(key))) writeWallet(tx, deps, wallet, next)
    return { entry: { action: 'tenant.set', before, after }, result: { before, after } }
  })
}

/** What is wrong with a text member, as a sentence; undefined when nothing is. */
export function textFault(member: keyof typeof TEXTS, text: string): string | undefined {
  const { words, lines } = TEXTS[member]
  const most = TEXT_LENGTH_MAX[member]
  const unprintable = lines ? UNPRINTABLE : UNPRINTABLE_OR_NEW_LINE
  if (text.length === 0) return `The ${words} is empty.`
  if ([...text].length > most) return `The ${words} has more than ${most} characters.`
  if (unprintable.test(text)) return `The ${words} has characters that cannot be printed.`
  if (member === 'billingEmail' && !EMAIL.test(text)) return `“${text}” is no e-mail address.`
  return undefined
}

/** Of the members that people write; an e-mail address cannot be longer (RFC 5321 §4.5.3.1.3). */
export const TEXT_LENGTH_MAX = {
  clientName: 100,
  legalName: 200,
  taxId: 64,
  billingAddress: 500,
  billingEmail: 254,
} as const

const TEXTS = {
  clientName: { words: 'name', lines: false },
  legalName: { words: 'legal name', lines: false },
  taxId: { words: 'tax id', lines: false },
  billingAddress: { words: 'billing address', lines: true },
  billingEmail: { words: 'billing e-mail address', lines: false },
} as const

const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f\p{Cs}]/u
const UNPRINTABLE_OR_NEW_LINE = /[\u0000-\u001f\u007f\p{Cs}]/u
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

const WALLET_MEMBERS = new Set<keyof Settings>(['creditLimit', 'dailySpendLimit', 'lowBalanceThreshold'])

/** The settings in the form that is stored. @throws Refusal with a sentence for every fault */
export function checkSettings(wish: SettingsWish): Partial<Settings> {
  const faults: string[] = []
  const wanted: Partial<Record<keyof Settings, unknown>> = {}
  for (const [key, value] of Object.entries(wish)) if (value !== undefined) wanted[key as keyof Settings] = value
  for (const member of Object.keys(TEXTS) as (keyof typeof TEXTS)[]) {
    const text = wish[member]?.trim()
    if (text === undefined) continue
    const fault = textFault(member, text)
    if (fault) faults.push(fault)
    wanted[member] = text
  }
  if (wish.ipAllowlist) {
    const parsed = parseAllowlist(wish.ipAllowlist)
    if ('fault' in parsed) faults.push(parsed.fault)
    else wanted.ipAllowlist = parsed.entries
  }
  const qps = wish.qpsLimit ?? null
  if (qps !== null && !(Number.isInteger(qps) && qps >= 1 && qps <= QPS_LIMIT_MAX)) {
    faults.push(`The QPS limit is a whole number from 1 to ${QPS_LIMIT_MAX}; it is “${qps}”.`)
  }
  for (const [member, words] of AMOUNTS) {
    const amount = wish[member] ?? null
    if (amount === null || (amount >= 0n && amount <= MONEY_MAX)) continue
    faults.push(`The ${words} lies between 0.00 and ${formatMoney(MONEY_MAX)}; it is ${formatMoney(amount)}.`)
  }
  if (faults.length > 0) throw new Refusal(422, 'SETTING_INVALID', faults.join('\n'), { faults })
  return wanted as Partial<Settings>
}

const AMOUNTS = [
  ['creditLimit', 'credit limit'],
  ['dailySpendLimit', 'daily spend limit'],
  ['lowBalanceThreshold', 'low-balance threshold'],
] as const

function currentSettings(tenant: TenantRow, wallet: LockedWallet): Settings {
  return {
    clientName: tenant.tenantName,
    ipAllowlist: tenant.ipAllowlist,
    qpsLimit: tenant.qpsLimit,
    creditLimit: wallet.creditLimit,
    dailySpendLimit: wallet.dailySpendLimit,
    lowBalanceThreshold: wallet.lowBalanceThreshold,
    legalName: tenant.legalName,
    taxId: tenant.taxId,
    billingAddress: tenant.billingAddress,
    billingEmail: tenant.billingEmail,
  }
}

function writeTenant(tx: Tx, tenantId: string, next: Settings): void {
  tx.send(sql`
    update tenants
    set tenant_name = ${next.clientName}, ip_allowlist = ${[...next.ipAllowlist]}, qps_limit = ${next.qpsLimit},
        legal_name = ${next.legalName}, tax_id = ${next.taxId}, billing_address = ${next.billingAddress},
        billing_email = ${next.billingEmail}
    where tenant_id = ${tenantId}`)
}

/** A new threshold tells at once when the balance already lies below it: the next crossing may be far. */
function writeWallet(tx: Tx, deps: TenantDeps, wallet: LockedWallet, next: Settings): void {
  const step = lowBalanceStep(wallet.balance, next.lowBalanceThreshold)
  tx.send(sql`
    update wallets
    set credit_limit = ${next.creditLimit}, daily_spend_limit = ${next.dailySpendLimit},
        low_balance_threshold = ${next.lowBalanceThreshold}, low_balance_alerted_percent = ${step},
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at)
    where tenant_id = ${wallet.tenantId}`)
  const changedThreshold = next.lowBalanceThreshold !== wallet.lowBalanceThreshold
  const stepBefore = changedThreshold ? 0 : wallet.lowBalanceStep
  alertLowBalance(tx, deps.ids, { ...wallet, lowBalanceThreshold: next.lowBalanceThreshold, step, stepBefore })
}

function same(left: unknown, right: unknown): boolean {
  return Array.isArray(left) && Array.isArray(right) ? left.join() === right.join() : left === right
}

function pick(settings: Settings, keys: (keyof Settings)[]): Partial<Settings> {
  return Object.fromEntries(keys.map((key) => [key, settings[key]]))
}
