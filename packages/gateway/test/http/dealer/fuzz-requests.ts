import { API_PATH, type OperationName, operationNames, operations } from '@dealer-esim/contract'
import fc from 'fast-check'

/*
 * Generates faulty requests: values of the operations' schemas with random replacements, truncated and shuffled text,
 * unexpected headers, and well-formed requests with missing or changed bytes.
 */

/** The parts of JSON Schema that the contract uses. */
interface Schema {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  anyOf?: Schema[]
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  maxLength?: number
  pattern?: string
  format?: string
  examples?: unknown[]
}

/** Port 9 on this machine, so that no health check leaves the machine. */
const CALLBACKS = ['http://127.0.0.1:9/', 'https://127.0.0.1:9/x', 'http://127.0.0.1:9/#f', 'http://u:p@127.0.0.1:9/']

/** Generates values that match or nearly match the schema: strings of the right form, numbers at the limits. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  switch (schema.type) {
    case 'object': {
      const members = Object.entries(schema.properties ?? {})
      const own = Object.fromEntries(
        members.map(([name, member]) => [
          name,
          name === 'callbackUrl' ? callback : HAND_OVER.has(name) ? seldom(fitting(member)) : fitting(member),
        ]),
      )
      return fc.record<Record<string, unknown>>(own, { requiredKeys: schema.required ?? [] })
    }
    case 'array':
      return fc.array(fitting(schema.items ?? {}), { maxLength: Math.min(4, schema.maxItems ?? 4) })
    case 'integer': {
      const { minimum = 0, maximum = 100 } = schema
      return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, 40) }), fc.constantFrom(minimum, maximum))
    }
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      if (schema.format === 'date-time') return time
      return fc.oneof(fc.constantFrom(...(schema.examples ?? ['JP_1_7', 'T-1'])), word)
    default:
      throw new Error(`a schema of type ${schema.type} is new here`)
  }
}

/** Most values of these are refused before anything else of an order is looked at. */
const HAND_OVER = new Set(['brand', 'deliverTo', 'language'])
const seldom = (values: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values })

const word = fc.string({ unit: fc.constantFrom(...'ABZ019_.:-'), minLength: 1, maxLength: 12 })
const callback = fc.oneof(fc.constantFrom(...CALLBACKS), fc.constant(null))
const time = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom('2026-02-30T25:61:61Z', '0000-00-00T00:00:00Z', '9999-12-31T23:59:59.999999999+23:59'),
)

/** Values that are invalid everywhere. */
const nasty = fc.oneof(
  fc.constantFrom(null, '', ' ', '\u0000', '\ud800', '\u202e', '__proto__', '💶'.repeat(40), 'x'.repeat(3_000)),
  fc.constantFrom(0, -1, 1.5, 1e21, -1e-7, 2 ** 53, Number.MAX_VALUE, true, [], {}, [[[[[[[[[]]]]]]]]]),
  fc.constantFrom("'; drop table orders; --", '$(reboot)', '%00', '%', '\\', '{"a":1}', '1e400', 'NaN'),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Sends one correctly signed request. */
export interface FuzzedRequest {
  path: string
  body: Buffer
  headers: Record<string, string>
}

function bodyOf(operation: OperationName): fc.Arbitrary<Buffer> {
  const values = fitting(operations[operation].request as Schema)
  const spoilt = fc.tuple(values, fc.array(fc.tuple(fc.nat(), nasty, fc.nat({ max: 3 })), { maxLength: 2 }))
  const texts = spoilt.map(([value, changes]) =>
    JSON.stringify(changes.reduce<unknown>((whole, [at, put, how]) => spoil(whole, at, put, how), value)),
  )
  // A callback URL is not truncated: with a digit missing, it would be the address of a different machine.
  if (operation === 'webhook/set') return texts.map((text) => Buffer.from(text))
  return fc.oneof(
    { weight: 3, arbitrary: texts.map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.tuple(texts, stirred).map(([text, stir]) => stir(Buffer.from(text))) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
  )
}

/** Replaces or removes a part of a value, or adds a member. */
function spoil(value: unknown, at: number, put: unknown, how: number): unknown {
  if (typeof value !== 'object' || value === null) return how === 0 ? put : value
  if (Array.isArray(value)) {
    if (value.length === 0 || how === 3) return [...value, put]
    return value.map((one, index) => (index === at % value.length ? spoil(one, at >> 3, put, how) : one))
  }
  const members = Object.entries(value)
  if (members.length === 0 || how === 3) return { ...value, [`x${at % 5}`]: put }
  const [name, inner] = members[at % members.length]!
  if (name === 'callbackUrl') return value
  if (how === 2) return Object.fromEntries(members.filter(([other]) => other !== name))
  return { ...value, [name]: how === 1 ? put : spoil(inner, at >> 3, put, how) }
}

/** Drops, repeats or replaces some bytes. */
export const stirred: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc
  .array(
    fc.record({
      place: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.integer({ min: 0, max: 12 }),
      put: fc.oneof(
        fc.constant('double' as const),
        fc.uint8Array({ maxLength: 6 }),
        fc.constantFrom('\r\n', '\0', ': ', '\r\n\r\n', '{', '"').map((text) => Buffer.from(text)),
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((changes) => (bytes) => {
    return changes.reduce((whole, { place, length, put }) => {
      const at = Math.floor(place * whole.length)
      const gone = whole.subarray(at, at + length)
      const come = put === 'double' ? [gone, gone] : [put]
      return Buffer.concat([whole.subarray(0, at), ...come, whole.subarray(at + length)])
    }, bytes)
  })

const text = fc.string({ unit: 'grapheme-ascii', maxLength: 40 })
const headers = fc.dictionary(
  fc.constantFrom(
    ...['RT-AccessCode', 'RT-RequestID', 'RT-Timestamp', 'X-Signature', 'Content-Type', 'Content-Encoding', 'Accept'],
    ...['X-Forwarded-For', 'X-Forwarded-Proto', 'Idempotent-Replayed', 'Cookie', 'Authorization', 'Traceparent'],
  ),
  text,
  { maxKeys: 2 },
)

export const fuzzedRequest: fc.Arbitrary<FuzzedRequest> = fc.oneof(
  ...operationNames.map((operation) =>
    fc.record({
      path: fc.oneof(
        { weight: 9, arbitrary: fc.constant(`${API_PATH}${operation}`) },
        { weight: 1, arbitrary: fc.webPath().map((path) => `${API_PATH}${path}`) },
      ),
      body: bodyOf(operation),
      headers: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
    }),
  ),
)
