import { formatMoney } from '@dealer-esim/contract'
import type { RuleDetails } from '#products/rules/manage-rules.ts'
import type { Preview, PreviewLine } from '#products/rules/preview-rules.ts'
import { count, fields, table, timeText } from '../kernel/text-table.ts'

export function ruleTable(rules: readonly RuleDetails[]): string {
  return table(
    rules,
    [
      { title: 'POSITION', right: true, value: ({ rule }) => String(rule.position) },
      { title: 'RULE', value: (row) => row.ruleName },
      { title: 'PRODUCTS', value: (row) => filterText(row) },
      { title: 'PRICE', value: (row) => priceText(row) },
      { title: 'PACKAGES', right: true, value: (row) => String(row.packages) },
      { title: 'STATE', value: (row) => (row.isApplied ? 'applied' : 'not applied') },
    ],
    'There are no sale rules. Add one with: rule set NAME --currency USD --percent 25',
  )
}

export function ruleText(row: RuleDetails): string {
  const { rule } = row
  return fields([
    ['Rule', `${row.ruleName}${row.isApplied ? '' : ' (not applied yet: rule preview)'}`],
    ['Position', String(rule.position)],
    ['Products', filterText(row)],
    ['Price', priceText(row)],
    ['Name', rule.nameTemplate],
    ['Code', rule.codeTemplate],
    ['Suppliers', rule.supplierOrder === 'CHEAPEST' ? 'the cheapest first' : (rule.suppliers ?? []).join(', then ')],
    ['Costs change', rule.whenCostsChange === 'REPRICE' ? 'change the price' : 'off sale without the margin'],
    ['Packages', String(row.packages)],
    ['Changed', timeText(row.updatedAt)],
  ])
}

function filterText({ rule }: RuleDetails): string {
  const { suppliers, filter } = rule
  const { countries, countriesMax, volumeMin, volumeMax, unlimited, daysMin, daysMax, packageType, dayPass, name } =
    filter
  const range = (from: number | null, to: number | null) => `${from ?? 'any'} to ${to ?? 'any'}`
  const parts = [
    suppliers === null ? '' : `of ${suppliers.join(', ')}`,
    packageType ?? '',
    countries === null ? '' : `in ${countries.join(', ')}`,
    countriesMax === null ? '' : `at most ${countriesMax} ${countriesMax === 1 ? 'country' : 'countries'}`,
    volumeMin === null && volumeMax === null ? '' : `${range(volumeMin, volumeMax)} bytes`,
    unlimited === null ? '' : unlimited ? 'unlimited' : 'not unlimited',
    daysMin === null && daysMax === null ? '' : `${range(daysMin, daysMax)} days`,
    dayPass === null ? '' : dayPass ? 'day passes' : 'no day passes',
    name === null ? '' : `named “${name}”`,
  ]
  return parts.filter(Boolean).join(', ') || 'all'
}

function priceText({ rule }: RuleDetails): string {
  const { percent, fixed, minMargin, rounding, currencyCode } = rule
  const parts = [
    `cost + ${percent} %`,
    fixed > 0 ? `+ ${formatMoney(fixed)}` : '',
    minMargin > 0 ? `margin at least ${formatMoney(minMargin)}` : '',
    rounding === 'none' ? '' : `up to ${rounding}`,
  ]
  return `${currencyCode}: ${parts.filter(Boolean).join(', ')}`
}

export function previewText(preview: Preview, limit: number): string {
  const { counts, lines, basis, repriced, doubtful, products, unselected, oldRates, notRead } = preview
  const changes = counts.ADDED + counts.CHANGED + counts.ON_SALE + counts.OFF_SALE
  const shown = [...lines].sort((a, b) => b.warnings.length - a.warnings.length).slice(0, limit)
  const more =
    lines.length > shown.length ? `\n${lines.length - shown.length} more: raise --limit, or write --csv FILE.` : ''
  const skipped = Object.entries(preview.skipped).flatMap(([reason, number]) =>
    number > 0 ? [`${number} ${reason}`] : [],
  )
  const rates = oldRates.map(
    ({ costCurrency, saleCurrency, ratedAt }) =>
      `\nThe rate ${costCurrency} to ${saleCurrency} is of ${timeText(ratedAt)}: enter a new one.`,
  )
  const unread = notRead.map(({ supplier, reason }) =>
    reason === 'NEVER'
      ? `\nThe catalogue of ${supplier} has never been read completely: its products are not included.`
      : `\nThe latest catalogue of ${supplier} has not been accepted yet: this preview uses the previous one.`,
  )
  const summary = [
    `${products} products, ${unselected} of them not selected by any rule${skipped.length > 0 ? `, skipped: ${skipped.join(', ')}` : ''}.`,
    `Packages: ${counts.ADDED} new, ${counts.CHANGED} changed (${repriced} prices), ${counts.ON_SALE} back on sale, ${counts.OFF_SALE} off sale, ${counts.UNCHANGED} unchanged, ${counts.BLOCKED} left as they are.`,
    ...(doubtful > 0 ? [`! Check the ${count(doubtful, 'package')} with warnings before you apply.`] : []),
  ]
  const next = changes === 0 ? 'There is nothing to apply.' : `To apply exactly this: rule apply ${basis}`
  const listed = lines.length === 0 ? '' : `\n\n${previewTable(shown)}${more}`
  return `${summary.join('\n')}${unread.join('')}${rates.join('')}${listed}\n\n${next}`
}

function previewTable(lines: readonly PreviewLine[]): string {
  return table(
    lines,
    [
      { title: 'PACKAGE', value: (row) => row.packageCode },
      { title: 'CHANGE', value: (row) => row.change },
      { title: 'PRICE', right: true, value: priceChange },
      { title: 'COST', right: true, value: (row) => optional(row.cost) },
      { title: 'MARGIN', right: true, value: (row) => optional(row.margin) },
      { title: 'SUPPLIERS', value: (row) => row.suppliers.map(({ supplier }) => supplier).join(', ') },
      { title: 'REMARK', value: (row) => [...row.warnings, row.reason ?? ''].filter(Boolean).join(' ') },
    ],
    '',
  )
}

function priceChange({ priceBefore, priceAfter, currencyCode, change }: PreviewLine): string {
  if (change === 'BLOCKED') return ''
  if (priceBefore === priceAfter) return `${optional(priceAfter)} ${currencyCode ?? ''}`
  return `${priceBefore === null ? '' : `${formatMoney(priceBefore)} → `}${optional(priceAfter)} ${currencyCode ?? ''}`
}

function optional(units: number | null): string {
  return units === null ? '' : formatMoney(units)
}
