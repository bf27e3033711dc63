import { createInterface } from 'node:readline'
import type { PackageDocument } from '../../catalogue/packages/document.ts'
import { Refusal } from '../../lib/refusal.ts'
import type { SaleRule } from '../../products/rules/sale-rule.ts'

/** What one cell publishes for the others: a file with one JSON entry per line, the head first, the end last. */
export type PublicationEntry =
  | { readonly head: PublicationHead }
  | { readonly exchangeRate: PublishedRate }
  | { readonly saleRule: PublishedSaleRule }
  | { readonly pricePlan: PublishedPlan }
  | { readonly package: PackageDocument; readonly saleRule: { ruleName: string; offSaleByRule: boolean } | null }
  /** Without it the file is incomplete. */
  | { readonly end: { entries: number } }

export interface PublicationHead {
  readonly format: typeof FORMAT
  readonly cell: string
  /** RFC 3339 */
  readonly publishedAt: string
  /** Version of the catalogue in that cell: a later publication has no lower one. */
  readonly catalogueVersion: number
}

export interface PublishedRate {
  readonly costCurrency: string
  readonly saleCurrency: string
  /** In 1/1 000 000. */
  readonly rate: number
  readonly ratedAt: string
}

export interface PublishedSaleRule {
  readonly ruleName: string
  readonly rule: SaleRule
  /** As it was last applied; null: never. */
  readonly applied: SaleRule | null
}

export interface PublishedPlan {
  readonly planName: string
  readonly displayName: string | null
  readonly rules: readonly PublishedPlanRule[]
}

export interface PublishedPlanRule {
  readonly packageCode: string | null
  readonly locationCode: string | null
  readonly supplier: string | null
  /** In 1/10 000 of a percent. */
  readonly percent: number | null
  readonly basis: 'LIST' | 'COST'
  readonly rounding: string
  readonly price: number | null
  readonly currencyCode: string | null
  readonly validFrom: string | null
  readonly validUntil: string | null
}

export const FORMAT = 1
const KINDS = ['head', 'exchangeRate', 'saleRule', 'pricePlan', 'package', 'end'] as const

/**
 * Reads the entries of a publication, one at a time: the file may be larger than the memory.
 * @throws Refusal if the file is not a publication, or not a complete one
 */
export async function* readEntries(source: NodeJS.ReadableStream): AsyncGenerator<PublicationEntry> {
  let lines = 0
  let isComplete = false
  for await (const line of createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (isComplete) throw unreadable(lines, 'there is text after its end')
    lines++
    const entry = parseEntry(line, lines)
    if ((lines === 1) !== 'head' in entry) throw unreadable(lines, 'a publication begins with its head')
    if ('head' in entry && entry.head?.format !== FORMAT)
      throw unreadable(lines, `this release reads format ${FORMAT}; publish with the same release`)
    if ('end' in entry) {
      if (entry.end?.entries !== lines - 1) throw unreadable(lines, 'entries are missing')
      isComplete = true
    } else yield entry
  }
  if (!isComplete) throw unreadable(lines, 'it is incomplete')
}

function parseEntry(line: string, number: number): PublicationEntry {
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch (error) {
    throw unreadable(number, (error as Error).message)
  }
  if (typeof entry === 'object' && entry !== null && KINDS.some((kind) => kind in entry))
    return entry as PublicationEntry
  throw unreadable(number, 'it is not an entry of a publication')
}

function unreadable(line: number, reason: string): Refusal {
  return new Refusal(
    400,
    'INVALID_PUBLICATION',
    `Nothing was imported: line ${line} of the file: ${reason}. Write the file again with “admin cells publish”.`,
  )
}
