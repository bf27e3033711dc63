import { formatTime } from '@dealer-esim/contract'
import type { RuleDetails } from '../../catalogue/pricing/plans.ts'
import { priceText } from '../catalogue/package-text.ts'

/** A rule of a plan in one line, such as `JP: -10 %, from 2026-12-01T00:00:00.000Z`. */
export function planRuleText(rule: RuleDetails): string {
  const { percent, basis, rounding, price, currencyCode, validFrom, validUntil } = rule
  const percentText = `${basis === 'COST' ? 'cost + ' : ''}${percent} %`
  return [
    `${packagesText(rule)}: ${price === null ? percentText : priceText({ price, currencyCode: currencyCode ?? '' })}`,
    ...(rounding === 'none' ? [] : [`rounded to ${rounding}`]),
    ...(validFrom === null ? [] : [`from ${formatTime(validFrom)}`]),
    ...(validUntil === null ? [] : [`until ${formatTime(validUntil)}`]),
  ].join(', ')
}

function packagesText({ packageCode, locationCode, supplier }: RuleDetails): string {
  if (packageCode !== null) return packageCode
  if (locationCode !== null) return `packages of ${locationCode}`
  return supplier === null ? 'every package' : `packages of supplier ${supplier}`
}
