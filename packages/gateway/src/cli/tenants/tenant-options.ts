import { EVENT_FORMATS, parseMoney } from '@dealer-esim/contract'
import { SELLS_THROUGH, type SellsThrough } from '#tenants/change-tenant.ts'
import type { SettingsInput } from '#tenants/tenant-settings.ts'
import type { WebhookChange } from '#webhooks/endpoint/set-webhook.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'

export const SELLS_OPTION = [
  '--sells-through <portal|api>',
  'portal: hide the developer pages from its people; API keys keep working',
] as const

export const SETTING_OPTIONS = [
  ['--name <name>', 'the name shown to its people'],
  SELLS_OPTION,
  ['--ip-allowlist <list>', 'allowed addresses and CIDR blocks, separated by commas; none: any'],
  [
    '--unsigned-requests <on|off>',
    'accept requests without a signature, or with RT-SecretKey, at the RT API (/api/v1/open); needs an IP allowlist without blocks wider than /24 or /64, and a daily spend limit',
  ],
  ['--qps-limit <n>', "requests per second; none: the deployment's default"],
  ['--callback-url <url>', 'where events are sent; it must pass a health check'],
  ['--event-format <format>', 'of events: dealer, or rt for programs of the RT family'],
  ['--credit-limit <amount>', 'how far the balance may go below zero'],
  ['--daily-spend-limit <amount>', 'the most that may be spent on a UTC day'],
  ['--low-balance-threshold <amount>', 'alert the tenant below 100, 75, 50 and 10 % of it'],
  ['--legal-name <name>', 'for statements'],
  ['--tax-id <id>', 'for statements'],
  ['--billing-address <text>', 'for statements'],
  ['--billing-email <address>', 'for statements and alerts'],
] as const

export interface SettingOptions {
  name?: string
  sellsThrough?: string
  ipAllowlist?: string
  unsignedRequests?: string
  qpsLimit?: string
  callbackUrl?: string
  eventFormat?: string
  creditLimit?: string
  dailySpendLimit?: string
  lowBalanceThreshold?: string
  legalName?: string
  taxId?: string
  billingAddress?: string
  billingEmail?: string
}

/** @throws UsageError if no option was given, or for an invalid limit; MalformedMoney */
export function settingsInput(options: SettingOptions): SettingsInput {
  if (Object.keys(options).length === 0) throw new UsageError('Give at least one setting: see tenant set --help.')
  const { name, ipAllowlist, qpsLimit, creditLimit, dailySpendLimit, lowBalanceThreshold } = options
  const input: SettingsInput = {}
  if (name !== undefined) input.clientName = name
  if (options.sellsThrough !== undefined) input.sellsThrough = parseSellsThrough(options.sellsThrough)
  if (ipAllowlist !== undefined) input.ipAllowlist = ipAllowlist === NONE ? [] : ipAllowlist.split(',')
  if (options.unsignedRequests !== undefined) input.unsignedRequests = parseSwitch(options.unsignedRequests)
  if (qpsLimit !== undefined)
    input.qpsLimit = orNone(qpsLimit, (text) => parseWholeNumber(text, '--qps-limit', { min: 0 }))
  if (creditLimit !== undefined) input.creditLimit = orNone(creditLimit, parseMoney) ?? 0n
  if (dailySpendLimit !== undefined) input.dailySpendLimit = orNone(dailySpendLimit, parseMoney)
  if (lowBalanceThreshold !== undefined) input.lowBalanceThreshold = orNone(lowBalanceThreshold, parseMoney)
  for (const member of ['legalName', 'taxId', 'billingAddress', 'billingEmail'] as const) {
    const text = options[member]
    if (text !== undefined) input[member] = orNone(text, (value) => value)
  }
  return input
}

/** The endpoint's settings, which a separate function changes; undefined: none. @throws UsageError */
export function webhookChange({ callbackUrl, eventFormat }: SettingOptions): WebhookChange | undefined {
  if (callbackUrl === undefined && eventFormat === undefined) return undefined
  const change: WebhookChange = {}
  if (callbackUrl !== undefined) change.callbackUrl = orNone(callbackUrl, (url) => url)
  if (eventFormat !== undefined) {
    change.eventFormat = EVENT_FORMATS.find((format) => format === eventFormat.toUpperCase())
    if (change.eventFormat === undefined) {
      throw new UsageError(`--event-format must be dealer or rt, not “${eventFormat}”.`)
    }
  }
  return change
}

/** @throws UsageError */
export function parseSellsThrough(text: string): SellsThrough {
  const found = SELLS_THROUGH.find((one) => one === text.toUpperCase())
  if (found === undefined) throw new UsageError(`--sells-through must be portal or api, not “${text}”.`)
  return found
}

const NONE = 'none'

function parseSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError(`--unsigned-requests must be on or off, not “${text}”.`)
  return text === 'on'
}

function orNone<Value>(text: string, parse: (text: string) => Value): Value | null {
  return text === NONE ? null : parse(text)
}
