import { createHmac, timingSafeEqual } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { listSchemaFaults } from '@dealer-esim/lib/schema-faults.ts'
import Type, { type Static, type TSchema } from 'typebox'
import { type PackageDocument, packageDocumentSchema } from '#catalogue/packages/package-document.ts'
import { saleRule } from '#products/rules/sale-rule.ts'

/*
 * The file that one cell publishes for the others, with one JSON entry per line. The first line is the head. The last line
 * is the end, without which the file is incomplete.
 */

export const FORMAT = 1

const CLOSED = { additionalProperties: false } as const
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const time = () => Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
const integer = () => Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })

const head = Type.Object({
  format: Type.Literal(FORMAT, { description: 'Cells of another release may have another format' }),
  cell: Type.String(),
  publishedAt: time(),
  catalogueVersion: Type.Integer({ description: 'In that cell: a later publication has no lower one' }),
})
const exchangeRate = Type.Object(
  {
    costCurrency: Type.String(),
    saleCurrency: Type.String(),
    rate: Type.Integer({ description: 'In 1/1 000 000' }),
    ratedAt: time(),
  },
  CLOSED,
)
const publishedRule = Type.Object(
  {
    ruleName: Type.String(),
    rule: saleRule,
    applied: Type.Union([saleRule, Type.Null()], { description: 'As it was last applied; null: never' }),
  },
  CLOSED,
)
const planRule = Type.Object(
  {
    packageCode: nullable(Type.String()),
    locationCode: nullable(Type.String()),
    supplier: nullable(Type.String()),
    percent: nullable(Type.Integer({ description: 'In 1/10 000 of a percent' })),
    basis: Type.Enum(['LIST', 'COST']),
    rounding: Type.String(),
    price: nullable(integer()),
    currencyCode: nullable(Type.String()),
    validFrom: nullable(time()),
    validUntil: nullable(time()),
  },
  CLOSED,
)
const pricePlan = Type.Object(
  { planName: Type.String(), displayName: nullable(Type.String()), rules: Type.Array(planRule) },
  CLOSED,
)
const madeBy = nullable(Type.Object({ ruleName: Type.String(), offSaleByRule: Type.Boolean() }, CLOSED))

/** All kinds of entries, by the member that distinguishes each. */
const ENTRIES = {
  head: Type.Object({ head }, CLOSED),
  exchangeRate: Type.Object({ exchangeRate }, CLOSED),
  saleRule: Type.Object({ saleRule: publishedRule }, CLOSED),
  pricePlan: Type.Object({ pricePlan }, CLOSED),
  package: Type.Object({ package: Type.Unsafe<PackageDocument>(packageDocumentSchema), madeBy }, CLOSED),
  end: Type.Object(
    { end: Type.Object({ entries: Type.Integer(), digest: Type.Optional(Type.String()) }, CLOSED) },
    CLOSED,
  ),
} as const
type Kind = keyof typeof ENTRIES

export type PublicationEntry = { [K in Kind]: Static<(typeof ENTRIES)[K]> }[Kind]
export type PublicationHead = Static<typeof head>
export type PublishedRate = Static<typeof exchangeRate>
export type PublishedSaleRule = Static<typeof publishedRule>
export type PublishedPlan = Static<typeof pricePlan>
export type PublishedPlanRule = Static<typeof planRule>

/**
 * The digest of a publication's lines before its end, under the key that both cells have: HMAC-SHA256 in base64. Someone
 * who can write the file but cannot read the key cannot change any price in it.
 */
export function createDigest(key: Buffer): { add(line: string): void; value(): string } {
  const hmac = createHmac('sha256', key)
  return { add: (line) => void hmac.update(`${line}\n`), value: () => hmac.digest('base64') }
}

/**
 * Reads the entries of a publication, one at a time: the file may not fit in memory.
 * @param key if undefined, the digest is not checked
 * @throws Refusal if the file is not a publication, is incomplete, or was not written by a cell with this key
 */
export async function* readEntries(
  source: NodeJS.ReadableStream,
  key: Buffer | undefined,
): AsyncGenerator<PublicationEntry> {
  const digest = key && createDigest(key)
  let lines = 0
  let isComplete = false
  for await (const line of createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (isComplete) throw unreadable(lines, 'there is text after the end of the publication')
    lines++
    const entry = parseEntry(line, lines)
    if ((lines === 1) !== 'head' in entry)
      throw unreadable(lines, 'a publication must begin with its head, and contain only one')
    if ('end' in entry) {
      if (entry.end.entries !== lines - 1) throw unreadable(lines, 'entries are missing')
      if (digest) checkDigest(entry.end.digest, digest.value())
      isComplete = true
    } else {
      digest?.add(line)
      yield entry
    }
  }
  if (!isComplete) throw unreadable(lines, 'it is incomplete')
}

function checkDigest(found: string | undefined, expected: string): void {
  const [left, right] = [Buffer.from(found ?? ''), Buffer.from(expected)]
  if (left.length === right.length && timingSafeEqual(left, right)) return
  const fault = found === undefined ? 'has no digest' : 'was changed, or written with a different key'
  throw new Refusal(
    400,
    'PUBLICATION_NOT_AUTHENTIC',
    `Nothing was imported: the file ${fault}. Publish it again in a cell whose PUBLICATION_KEY_FILE matches the one of this cell.`,
  )
}

function parseEntry(line: string, number: number): PublicationEntry {
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch (error) {
    throw unreadable(number, (error as Error).message)
  }
  const kind = (Object.keys(ENTRIES) as Kind[]).find((name) => Object.hasOwn(Object(entry), name))
  if (kind === undefined) throw unreadable(number, 'it is not a publication entry')
  const faults = listSchemaFaults(ENTRIES[kind], entry)
  if (faults.length > 0) throw unreadable(number, faults.join('; '))
  return entry as PublicationEntry
}

function unreadable(line: number, reason: string): Refusal {
  return new Refusal(
    400,
    'INVALID_PUBLICATION',
    `Nothing was imported. Line ${line} of the file: ${reason}. Write the file again with “admin cells publish”, using the same release.`,
  )
}
