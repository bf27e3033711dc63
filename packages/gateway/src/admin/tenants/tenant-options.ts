import { parseMoney } from '@dealer-esim/contract'
import type { SettingsInput } from '../../tenants/settings.ts'
import { UsageError } from '../failure.ts'
import { parseWholeNumber } from '../parse.ts'

export const SETTING_OPTIONS = [
  ['--name <name>', 'the name that its people know it by'],
  ['--ip-allowlist <list>', 'addresses and CIDR blocks that may call, separated by commas; none: any'],
  ['--qps-limit <n>', "requests per second; none: the deployment's default"],
  ['--callback-url <url>', 'where events go; must first answer a health check'],
  ['--credit-limit <amount>', 'how far below zero the balance may go'],
  ['--daily-spend-limit <amount>', 'what may be spent in a UTC day'],
  ['--low-balance-threshold <amount>', 'below it the tenant is told, at 100, 75, 50 and 10 % of it'],
  ['--legal-name <name>', 'for statements'],
  ['--tax-id <id>', 'for statements'],
  ['--billing-address <text>', 'for statements'],
  ['--billing-email <address>', 'for statements and notices'],
] as const

export interface SettingOptions {
  name?: string
  ipAllowlist?: string
  qpsLimit?: string
  callbackUrl?: string
  creditLimit?: string
  dailySpendLimit?: string
  lowBalanceThreshold?: string
  legalName?: string
  taxId?: string
  billingAddress?: string
  billingEmail?: string
}

/** @throws UsageError when nothing was named, MalformedMoney, or for a limit that is no number */
export function settingsInput(options: SettingOptions): SettingsInput {
  if (Object.keys(options).length === 0) throw new UsageError('Say what to set: tenant set --help lists it.')
  const { name, ipAllowlist, qpsLimit, creditLimit, dailySpendLimit, lowBalanceThreshold } = options
  const wish: SettingsInput = {}
  if (name !== undefined) wish.clientName = name
  if (ipAllowlist !== undefined) wish.ipAllowlist = ipAllowlist === NONE ? [] : ipAllowlist.split(',')
  if (qpsLimit !== undefined)
    wish.qpsLimit = orNone(qpsLimit, (text) => parseWholeNumber(text, '--qps-limit', { min: 0 }))
  if (creditLimit !== undefined) wish.creditLimit = orNone(creditLimit, parseMoney) ?? 0n
  if (dailySpendLimit !== undefined) wish.dailySpendLimit = orNone(dailySpendLimit, parseMoney)
  if (lowBalanceThreshold !== undefined) wish.lowBalanceThreshold = orNone(lowBalanceThreshold, parseMoney)
  for (const member of ['legalName', 'taxId', 'billingAddress', 'billingEmail'] as const) {
    const text = options[member]
    if (text !== undefined) wish[member] = orNone(text, (value) => value)
  }
  return wish
}

/** undefined: stays. null: removed. */
export function callbackUrlOf(options: SettingOptions): string | null | undefined {
  return options.callbackUrl === undefined ? undefined : orNone(options.callbackUrl, (url) => url)
}

const NONE = 'none'

function orNone<Value>(text: string, parse: (text: string) => Value): Value | null {
  return text === NONE ? null : parse(text)
}
