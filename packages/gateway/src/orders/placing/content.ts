import { type OrderType, stripIccidPadding } from '@dealer-esim/contract'
import type { PackageLine } from '../item.ts'
import type { OrderInput, SentLine } from './input.ts'

interface EarlierOrder {
  orderType: OrderType
  toppedUpProfileId: string | null
  toppedUpIccid: string | null
  packageLines: PackageLine[]
}

/** Compares an order with an earlier one of its transactionId. A top-up's ICCID names any eSIM that has it. */
export function hasSameContent(input: OrderInput, earlier: EarlierOrder): boolean {
  if (input.orderType !== 'TOPUP') {
    return earlier.orderType === 'NEW' && hasSameLines(input, input.request.packageInfoList, earlier.packageLines)
  }
  const { esimTranNo, iccid, packageCode, periodNum } = input.request
  if (earlier.toppedUpProfileId === null) return false
  if (esimTranNo !== undefined && esimTranNo.toLowerCase() !== earlier.toppedUpProfileId) return false
  if (iccid !== undefined && stripIccidPadding(iccid) !== earlier.toppedUpIccid) return false
  return hasSameLines(input, [{ packageCode, count: 1, periodNum }], earlier.packageLines)
}

function hasSameLines({ sent }: OrderInput, requested: readonly ContentLine[], earlier: readonly PackageLine[]) {
  return contentOf(sent ? asOrdered(sent.lines, earlier) : requested) === contentOf(earlier)
}

interface ContentLine {
  packageCode: string
  count: number
  periodNum?: number | undefined
  periodNumDefaulted?: true
}

/** The set of (packageCode, count, periodNum as sent). The order of lines, prices, amount and remark are not content. */
function contentOf(lines: readonly ContentLine[]): string {
  return JSON.stringify(
    lines
      .map(({ packageCode, count, periodNum, periodNumDefaulted }) => {
        return [packageCode, count, periodNumDefaulted ? undefined : periodNum] as const
      })
      .sort(byCode),
  )
}

function byCode(left: readonly [string, ...unknown[]], right: readonly [string, ...unknown[]]): number {
  return left[0] < right[0] ? -1 : 1
}

/**
 * The lines of a repeat, added up under the packages that their names meant in the earlier order: today's catalogue may
 * know a slug no longer, or for another package.
 */
function asOrdered(lines: readonly SentLine[], earlier: readonly PackageLine[]): ContentLine[] {
  const merged = new Map<string, ContentLine>()
  for (const { name, packageCode, count, periodNum } of lines) {
    const line =
      earlier.find((each) => each.sentAs?.includes(name)) ??
      earlier.find((each) => each.packageCode === name) ??
      earlier.find((each) => each.packageCode === packageCode)
    const meant = line?.packageCode ?? packageCode
    const key = JSON.stringify([meant, periodNum])
    const known = merged.get(key)
    if (known) known.count += count
    else merged.set(key, { packageCode: meant, count, ...(periodNum !== undefined && { periodNum }) })
  }
  return [...merged.values()]
}

/** Adds the names of its package that a request sent, where they are not its packageCode. */
export function withSentNames(line: PackageLine, lines: readonly SentLine[]): PackageLine {
  const names = lines.filter(({ packageCode, name }) => packageCode === line.packageCode && name !== packageCode)
  return names.length === 0 ? line : { ...line, sentAs: [...new Set(names.map(({ name }) => name))] }
}
