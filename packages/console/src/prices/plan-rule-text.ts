import type { PlanRule } from '@dealer-esim/gateway/http/console/prices/plan-rule.ts'
import { formatMoney, formatTime } from '#parts/format.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage, locale } from '#strings/strings.ts'

const countries = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })

/** The packages of a rule. */
export function packagesText({ packageCode, locationCode, supplier }: PlanRule): string {
  if (packageCode !== null) return packageCode
  if (supplier !== null) return formatMessage(t.prices.ofSupplier, { supplier })
  if (locationCode === null) return t.prices.everyPackage
  if (locationCode === '!RG') return t.prices.regionalPackages
  if (locationCode === '!GL') return t.prices.globalPackages
  return formatMessage(t.prices.ofCountry, { country: countries.of(locationCode) ?? locationCode })
}

export function valueText({ percent, basis, rounding, price, currencyCode }: PlanRule): string {
  if (price !== null) return formatMoney(price, currencyCode ?? '')
  const text = basis === 'COST' ? t.prices.percentOnCost : t.prices.percentOnList
  const rounded = rounding === 'none' ? '' : `, ${formatMessage(t.prices.roundedTo, { rounding })}`
  return formatMessage(text, { percent: (percent ?? '').replace('-', '−') }) + rounded
}

/** The validity of a rule; undefined: always. */
export function validityText({ validFrom, validUntil }: PlanRule): string | undefined {
  const parts = { from: validFrom ? formatTime(validFrom) : '', until: validUntil ? formatTime(validUntil) : '' }
  if (validFrom && validUntil) return formatMessage(t.prices.fromUntil, parts)
  if (validFrom) return formatMessage(t.prices.fromOn, parts)
  return validUntil ? formatMessage(t.prices.until, parts) : undefined
}

/** A whole rule in one line. */
export function ruleText(rule: PlanRule): string {
  const validity = validityText(rule)
  return `${packagesText(rule)}: ${valueText(rule)}${validity === undefined ? '' : `, ${validity}`}`
}

/** Where a price comes from, with the rule that decides. */
export function sourceText(row: {
  source: keyof typeof t.prices.sources | null
  planName: string | null
  rule: PlanRule | null
}): string {
  if (row.source === null) return t.prices.noPrice
  const source = t.prices.sources[row.source]
  return row.rule ? `${source} ${row.planName ?? ''}: ${ruleText(row.rule)}` : source
}
