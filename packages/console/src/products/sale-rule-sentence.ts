import type { SaleRule } from '@dealer-esim/gateway/products/rules/sale-rule.ts'
import { isCurrencyCode } from '#parts/form-values.ts'
import { formatMoney } from '#parts/format.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { parseRule, type TypedRule } from './sale-rule-form.ts'

/** What the rule does, as typed so far: its conditions and the price. Undefined while its amounts or its currency are not understood. */
export function ruleSentence(typed: TypedRule): string | undefined {
  const parsed = parseRule(typed)
  if ('errors' in parsed) return undefined
  const rule = parsed.rule as SaleRule
  if (!isCurrencyCode(rule.currencyCode)) return undefined
  const { sentence, choices } = t.saleRules
  const labelOf = (name: keyof typeof choices) => (choices[name] as Record<string, string>)[typed[name] ?? '']
  const conditions = [
    rule.suppliers?.join(', '),
    rule.filter.countries?.join(', '),
    labelOf('countriesMax'),
    labelOf('packageType'),
    rangeText(sentence.gigabytes, typed.volumeMin, typed.volumeMax),
    labelOf('unlimited'),
    rangeText(sentence.days, typed.daysMin, typed.daysMax),
    labelOf('dayPass'),
    rule.filter.name && formatMessage(sentence.name, { name: rule.filter.name }),
  ].filter(Boolean)
  return formatMessage(sentence.of, {
    conditions: conditions.join(' · ') || sentence.everything,
    price: priceText(rule),
  })
}

function rangeText(unit: string, min = '', max = ''): string | undefined {
  const { both, from, upTo } = t.saleRules.sentence
  if (min === '' && max === '') return undefined
  return formatMessage(unit, { range: formatMessage(max === '' ? from : min === '' ? upTo : both, { min, max }) })
}

export function priceText({ percent, fixed, minMargin, rounding, currencyCode }: SaleRule): string {
  return [
    formatMessage(t.saleRules.costPlus, { percent }),
    fixed > 0 && `+ ${formatMoney(fixed, currencyCode)}`,
    minMargin > 0 && formatMessage(t.saleRules.marginAtLeast, { amount: formatMoney(minMargin, currencyCode) }),
    rounding !== 'none' && formatMessage(t.saleRules.upTo, { rounding }),
    fixed === 0 && minMargin === 0 && currencyCode,
  ]
    .filter(Boolean)
    .join(', ')
}
