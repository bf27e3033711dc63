import { findFraction, formatMoney, MONEY_MAX, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { By } from '#platform/audit/audit.ts'
import { alertLowBalance, lowBalancePercent } from '#wallet/ledger/balance.ts'
import { type LockedWallet, lockTenantWallet } from '#wallet/ledger/lock-wallets.ts'
import { parseAllowlist, unsignedFault } from './allowlist.ts'
import { changeTenant, lockTenant, type SellsThrough, type TenantDeps, type TenantRow } from './change-tenant.ts'

/** Requested settings. An absent member is left unchanged; null clears the setting. */
export interface SettingsInput {
  clientName?: string
  /** Addresses and CIDR blocks in any spelling; empty: any address may call. */
  ipAllowlist?: readonly string[]
  /** Accepts requests without a signature at the RT API, as long as the conditions in tenants/allowlist.ts are met. */
  unsignedRequests?: boolean
  /** null: the deployment's default. */
  qpsLimit?: number | null
  sellsThrough?: SellsThrough
  creditLimit?: bigint
  dailySpendLimit?: bigint | null
  lowBalanceThreshold?: bigint | null
  legalName?: string | null
  taxId?: string | null
  billingAddress?: string | null
  billingEmail?: string | null
}

export type Settings = Required<SettingsInput>

/**
 * Changes settings, all or nothing. The callback URL is set elsewhere, because it needs a health check first
 * (webhooks/endpoint/set-webhook.ts).
 * @returns the changed members, before and after
 * @throws Refusal that lists all faults, or if the tenant does not exist, or if unsigned requests cannot be allowed for it
 */
export async function changeSettings(
  deps: TenantDeps,
  typedId: string,
  input: SettingsInput,
  by: By,
): Promise<{ before: Partial<Settings>; after: Partial<Settings> }> {
  const checked = checkSettings(input)
  return changeTenant(deps, typedId, by, async (tx, tenantId) => {
    // Lock order: wallets before everything else. An order sees either all of the change or nothing.
    const wallet = await lockTenantWallet(tx, tenantId)
    const tenant = await lockTenant(tx, tenantId)
    const current = currentSettings(tenant, wallet)
    refuseFractions(current, checked, tenant.currencyCode)
    const next = withoutFaults({ ...current, ...checked }, tenant.currencyCode, checked.unsignedRequests)
    const changed = (Object.keys(next) as (keyof Settings)[]).filter((key) => !same(current[key], next[key]))
    const before = pick(current, changed)
    const after = pick(next, changed)
    if (changed.length === 0) return { entry: undefined, result: { before, after } }
    updateTenant(tx, tenantId, next)
    if (changed.some((key) => WALLET_MEMBERS.has(key))) updateWallet(tx, deps, wallet, next)
    return { entry: { action: 'tenant.set', before, after }, result: { before, after } }
  })
}

/**
 * Disables unsigned requests when a condition that they need is removed, so that they are not silently enabled again when
 * the condition is met again.
 * @throws Refusal if the same change enables unsigned requests
 */
function withoutFaults(next: Settings, currencyCode: string, asked: boolean | undefined): Settings {
  const fault = next.unsignedRequests
    ? unsignedFault({ ...next, ipAllowlist: [...next.ipAllowlist], currencyCode })
    : undefined
  if (fault === undefined) return next
  if (asked) throw new Refusal(422, 'SETTING_INVALID', fault, { faults: [fault], fields: { unsignedRequests: fault } })
  return { ...next, unsignedRequests: false }
}

/** Checks a text member. @returns the fault as a message; undefined if the text is valid */
export function textFault(member: keyof typeof TEXTS, text: string): string | undefined {
  const { label, multiline } = TEXTS[member]
  const lengthMax = TEXT_LENGTH_MAX[member]
  const unprintable = multiline ? UNPRINTABLE : UNPRINTABLE_OR_NEW_LINE
  if (text.length === 0) return `The ${label} is empty.`
  if ([...text].length > lengthMax) return `The ${label} has more than ${lengthMax} characters.`
  if (unprintable.test(text)) return `The ${label} has characters that cannot be printed.`
  if (member === 'billingEmail' && !isEmailAddress(text)) return `“${text}” is not an e-mail address.`
  return undefined
}

/** Checks only the form of an e-mail address: whether it exists shows only when a mail is sent. */
export function isEmailAddress(text: string): boolean {
  return text.length <= TEXT_LENGTH_MAX.billingEmail && !UNPRINTABLE_OR_NEW_LINE.test(text) && EMAIL.test(text)
}

/** An e-mail address cannot be longer (RFC 5321 §4.5.3.1.3). */
export const TEXT_LENGTH_MAX = {
  clientName: 100,
  legalName: 200,
  taxId: 64,
  billingAddress: 500,
  billingEmail: 254,
} as const

const TEXTS = {
  clientName: { label: 'name', multiline: false },
  legalName: { label: 'legal name', multiline: false },
  taxId: { label: 'tax ID', multiline: false },
  billingAddress: { label: 'billing address', multiline: true },
  billingEmail: { label: 'billing e-mail address', multiline: false },
} as const

const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f\p{Cs}]/u
const UNPRINTABLE_OR_NEW_LINE = /[\u0000-\u001f\u007f\p{Cs}]/u
/** Without the characters of address lists: a header of an e-mail reads `1,mei@example.com` as two addresses. */
const EMAIL = /^[^\s@<>()[\],;:\\"]+@[^\s@.<>()[\],;:\\"]+(?:\.[^\s@.<>()[\],;:\\"]+)+$/

const WALLET_MEMBERS = new Set<keyof Settings>(['creditLimit', 'dailySpendLimit', 'lowBalanceThreshold'])

/** Checks settings and returns them in their stored form. @throws Refusal that lists all faults */
export function checkSettings(input: SettingsInput): Partial<Settings> {
  const fields: Record<string, string> = {}
  const checked: Partial<Record<keyof Settings, unknown>> = {}
  for (const [key, value] of Object.entries(input)) if (value !== undefined) checked[key as keyof Settings] = value
  for (const member of Object.keys(TEXTS) as (keyof typeof TEXTS)[]) {
    const text = input[member]?.trim()
    if (text === undefined) continue
    const fault = textFault(member, text)
    if (fault) fields[member] = fault
    checked[member] = text
  }
  if (input.ipAllowlist) {
    const parsed = parseAllowlist(input.ipAllowlist)
    if ('fault' in parsed) fields.ipAllowlist = parsed.fault
    else checked.ipAllowlist = parsed.entries
  }
  const qps = input.qpsLimit ?? null
  if (qps !== null && !(Number.isInteger(qps) && qps >= 1 && qps <= QPS_LIMIT_MAX)) {
    fields.qpsLimit = `The QPS limit must be a whole number from 1 to ${QPS_LIMIT_MAX}, not “${qps}”.`
  }
  for (const [member, label] of AMOUNTS) {
    const amount = input[member] ?? null
    if (amount === null || (amount >= 0n && amount <= MONEY_MAX)) continue
    fields[member] = `The ${label} must be between 0.00 and ${formatMoney(MONEY_MAX)}, not ${formatMoney(amount)}.`
  }
  const faults = Object.values(fields)
  if (faults.length > 0) throw new Refusal(422, 'SETTING_INVALID', faults.join('\n'), { faults, fields })
  return checked as Partial<Settings>
}

const AMOUNTS = [
  ['creditLimit', 'credit limit'],
  ['dailySpendLimit', 'daily spend limit'],
  ['lowBalanceThreshold', 'low-balance threshold'],
] as const

/** An unchanged amount may predate this rule. */
function refuseFractions(current: Settings, checked: Partial<Settings>, currencyCode: string): void {
  const fields: Record<string, string> = {}
  for (const [member, label] of AMOUNTS) {
    const amount = checked[member] ?? null
    const fraction = amount === null || amount === current[member] ? undefined : findFraction(amount, currencyCode)
    if (fraction !== undefined) fields[member] = `The ${label}: ${fraction}`
  }
  const faults = Object.values(fields)
  if (faults.length > 0) throw new Refusal(422, 'SETTING_INVALID', faults.join('\n'), { faults, fields })
}

function currentSettings(tenant: TenantRow, wallet: LockedWallet): Settings {
  return {
    clientName: tenant.tenantName,
    ipAllowlist: tenant.ipAllowlist,
    unsignedRequests: tenant.unsignedRequests,
    qpsLimit: tenant.qpsLimit,
    sellsThrough: tenant.sellsThrough,
    creditLimit: wallet.creditLimit,
    dailySpendLimit: wallet.dailySpendLimit,
    lowBalanceThreshold: wallet.lowBalanceThreshold,
    legalName: tenant.legalName,
    taxId: tenant.taxId,
    billingAddress: tenant.billingAddress,
    billingEmail: tenant.billingEmail,
  }
}

function updateTenant(tx: Tx, tenantId: string, next: Settings): void {
  tx.send(sql`
    update tenants
    set tenant_name = ${next.clientName}, ip_allowlist = ${[...next.ipAllowlist]}, qps_limit = ${next.qpsLimit},
        unsigned_requests = ${next.unsignedRequests}, sells_through = ${next.sellsThrough},
        legal_name = ${next.legalName}, tax_id = ${next.taxId}, billing_address = ${next.billingAddress},
        billing_email = ${next.billingEmail}
    where tenant_id = ${tenantId}`)
}

/**
 * Updates the wallet. If a new threshold is above the balance, the alert is sent immediately, because the next crossing may
 * be far away.
 */
function updateWallet(tx: Tx, deps: TenantDeps, wallet: LockedWallet, next: Settings): void {
  const percent = lowBalancePercent(wallet.balance, next.lowBalanceThreshold)
  tx.send(sql`
    update wallets
    set credit_limit = ${next.creditLimit}, daily_spend_limit = ${next.dailySpendLimit},
        low_balance_threshold = ${next.lowBalanceThreshold}, low_balance_alerted_percent = ${percent},
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at)
    where tenant_id = ${wallet.tenantId}`)
  const changedThreshold = next.lowBalanceThreshold !== wallet.lowBalanceThreshold
  const percentBefore = changedThreshold ? 0 : wallet.lowBalanceAlertedPercent
  alertLowBalance(tx, deps.ids, { ...wallet, lowBalanceThreshold: next.lowBalanceThreshold, percent, percentBefore })
}

function same(left: unknown, right: unknown): boolean {
  return Array.isArray(left) && Array.isArray(right) ? left.join() === right.join() : left === right
}

function pick(settings: Settings, keys: (keyof Settings)[]): Partial<Settings> {
  return Object.fromEntries(keys.map((key) => [key, settings[key]]))
}
