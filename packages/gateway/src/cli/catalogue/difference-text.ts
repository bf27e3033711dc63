import { formatMoney } from '@dealer-esim/contract'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import type { DifferenceLine } from '#catalogue/packages/package-difference.ts'
import type { SupplierDocument } from '#catalogue/packages/package-document.ts'

/** One change of a package, shown to the operator before an import. */
export interface DifferenceText {
  message: string
  /** Looks like a mistake, so the operator should check it. */
  isMarked: boolean
}

export function differenceText(line: DifferenceLine): DifferenceText[] {
  switch (line.kind) {
    case 'PRICE':
      return priceTexts(line)
    case 'RETAIL_PRICE': {
      const [from, to] = [optional(line.before, formatMoney), optional(line.after, formatMoney)]
      return [plain(`retail price: ${line.currencyCode} ${from} → ${to}`)]
    }
    case 'SUPPLIER':
      return [plain(`supplier ${line.place}: ${supplierChangeText(line.before, line.after)}`)]
    case 'PLACES':
      return [plain(`locations: ${locationsText(line.added, line.removed)}`)]
    case 'VOLUME': {
      const message = `volume: ${line.after} bytes. Did you mean ${line.after}GB or ${line.after}MB?`
      return [{ message, isMarked: true }]
    }
    case 'MEMBER':
      if (line.member === 'locationNetworkList') return [plain('networks: changed')]
      return [plain(`${line.member}: ${valueText(line.before)} → ${valueText(line.after)}`)]
    default:
      return line satisfies never
  }
}

const plain = (message: string): DifferenceText => ({ message, isMarked: false })

function priceTexts(line: Extract<DifferenceLine, { cost: unknown }>): DifferenceText[] {
  const { currencyCode, before, after, cost, warnings } = line
  const texts: DifferenceText[] = []
  const isMarked = warnings.includes('PRICE_FALLS') || warnings.includes('PRICE_REMOVED')
  if (before !== after) texts.push({ message: `price: ${currencyCode} ${moved(before, after)}`, isMarked })
  if (warnings.includes('BELOW_COST')) {
    const message = `${currencyCode} ${optional(after, formatMoney)} is below the cheapest supplier's cost of ${optional(cost, formatMoney)}`
    texts.push({ message, isMarked: true })
  }
  return texts
}

function moved(before: number | null, after: number | null): string {
  if (before === null) return `${optional(after, formatMoney)} (new)`
  if (after === null) return `${formatMoney(before)} removed`
  return `${formatMoney(before)} → ${formatMoney(after)}${percent(before, after)}`
}

function supplierChangeText(old: SupplierDocument | null, now: SupplierDocument | null): string {
  const name = ({ supplier, productCode }: SupplierDocument) => `${supplier}/${productCode}`
  const cost = ({ costPrice, costCurrency }: SupplierDocument) =>
    costPrice === null ? 'unknown' : `${costCurrency} ${formatMoney(costPrice)}`
  if (now === null) return old === null ? '' : `${name(old)} removed`
  if (old === null) return `${name(now)} (new${now.costPrice === null ? '' : `, costs ${cost(now)}`})`
  const parts = name(old) === name(now) ? [] : [`${name(old)} → ${name(now)}`]
  if (cost(old) !== cost(now)) {
    const isComparable = old.costCurrency === now.costCurrency && old.costPrice !== null && now.costPrice !== null
    const change = isComparable ? percent(old.costPrice!, now.costPrice!) : ''
    parts.push(`cost ${cost(old)} → ${cost(now)}${change}`)
  }
  return parts.join(', ')
}

const LOCATIONS_SHOWN = 10

function locationsText(added: readonly string[], removed: readonly string[]): string {
  const all = [...added.map((one) => `+${one}`), ...removed.map((one) => `−${one}`)]
  if (all.length === 0) return 'in another order'
  return shortList(all, LOCATIONS_SHOWN, ' ')
}

const TEXT_LENGTH_SHOWN = 60

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const text = [...(typeof value === 'object' ? JSON.stringify(value) : String(value))]
  return text.length > TEXT_LENGTH_SHOWN ? `${text.slice(0, TEXT_LENGTH_SHOWN).join('')}…` : text.join('')
}

function optional<Value>(value: Value | null, text: (value: Value) => string): string {
  return value === null ? 'none' : text(value)
}

/** Such as ` (−99.8 %)`; empty if the old price was 0. */
function percent(from: number, to: number): string {
  if (from === 0) return ''
  const share = (Math.abs(to - from) / from) * 100
  return ` (${to < from ? '−' : '+'}${share >= 1_000 ? Math.round(share) : Number(share.toFixed(1))} %)`
}
