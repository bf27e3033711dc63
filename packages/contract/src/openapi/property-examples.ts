import { dryRunExamples } from './dry-run-examples.ts'
import { failureExamples } from './failure-examples.ts'
import { answerExamples, EXAMPLE_REQUEST_ID, eventExamples, requestExamples } from './openapi-examples.ts'

type Json = { [member: string]: unknown }

/**
 * Adds `examples` to each member of a schema that has none: `iccid` has the one of the documentation's purchase, and
 * `imsi`, which is null there, one of its own. A member with fixed values needs none.
 */
export function addPropertyExamples(schema: Json, parent = ''): Json {
  const { properties, items, anyOf } = schema as { properties?: Record<string, Json>; items?: Json; anyOf?: Json[] }
  if (properties) {
    const members = Object.entries(properties).map(([name, member]) => [name, withExample(member, name, parent)])
    return { ...schema, properties: Object.fromEntries(members) }
  }
  if (items) return { ...schema, items: addPropertyExamples(items, parent) }
  return anyOf ? { ...schema, anyOf: anyOf.map((each) => addPropertyExamples(each, parent)) } : schema
}

function withExample(member: Json, name: string, parent: string): Json {
  const { items } = member as { items?: Json }
  const nested = addPropertyExamples(member, name)
  const isPlain = ['$ref', 'anyOf', 'const', 'enum', 'examples', 'properties'].every((each) => !(each in member))
  const isOfPlain = items === undefined || (items.properties ?? items.$ref ?? items.anyOf ?? items.enum) === undefined
  const example = OWN_EXAMPLES[`${parent}.${name}`] ?? OWN_EXAMPLES[name] ?? PURCHASE.get(name)
  return isPlain && isOfPlain && example !== undefined ? { ...nested, examples: [example] } : nested
}

/** Members that are absent, null or something else in the examples of the purchase. */
const OWN_EXAMPLES: Record<string, unknown> = {
  'deliverTo.name': 'Ada Example',
  available: 12,
  brand: 'lotus',
  confirmationCode: '4821',
  cursor: '06EQ7X6T0R2S9D8F1G3H5J7K6M',
  daySpent: 45_000,
  description: 'Data in Japan, on the network of Example Mobile',
  durationMin: 7,
  eid: '89049032123451234512345678901235',
  failureReason: 'The supplier has no eSIM of this package left.',
  fupPolicy: '512 kbit/s after 3 GB a day',
  imsi: '440100123456789',
  keyLabel: 'web shop',
  keyword: 'japan',
  notFound: ['06EQ7X1KCM0RB8Q2N5T3W9Z4GB'],
  msisdn: '818012345678',
  nextCursor: '06EQ7X6T0R2S9D8F1G3H5J7K6M',
  perDayMax: 5_000_000,
  perOrderMax: 500_000,
  periodNum: 5,
  periodNumMax: 30,
  periodNumMin: 1,
  pin: '0000',
  puk: '12345678',
  reference: 'INV-2026-0117',
  remark: 'web order 1042',
  requestId: EXAMPLE_REQUEST_ID,
  stringToSign: `1795181289000${EXAMPLE_REQUEST_ID}demo_app_key{}`,
  subLocationCodes: ['JP', 'KR'],
  totalMax: 100_000_000,
  totalSpent: 1_250_000,
  volumeMin: 1_073_741_824,
}

/** The first value of each member in the examples, in the order of the purchase. */
const PURCHASE = new Map<string, unknown>()
for (const examples of [requestExamples, answerExamples, dryRunExamples, eventExamples, failureExamples])
  collect(examples)

function collect(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const isPlain = typeof member !== 'object' || (Array.isArray(member) && typeof member[0] === 'string')
    const isList = Array.isArray(member) && typeof member[0] === 'number'
    if ((isPlain || isList) && !PURCHASE.has(name)) PURCHASE.set(name, member)
    collect(member)
  }
}
