import Type, { type TSchema } from 'typebox'
import type { Translate } from './translate-text.ts'

/*
 * Sentences in answers are translated when they are read: they are stored, and composed everywhere, in English. A route declares
 * which members are sentences; of a failure these are known. What people have typed is never one of them.
 */

/** A member of an answer that people read, in the language of Accept-Language: `Why the latest reading failed`. */
export function sentence(description?: string) {
  return Type.String({ ...(description !== undefined && { description }), [TRANSLATED]: true })
}

/** The JSON Schema of a form, of which people read the `title` and `description` of each member. */
export function form(description: string) {
  return Type.Unknown({ description, [TRANSLATED]: true })
}

const TRANSLATED = 'x-translated'

interface Schema {
  [TRANSLATED]?: boolean
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}

/** @param schema of the answer, as its route declares it */
export function translateAnswer(schema: TSchema, answer: unknown, translate: Translate): unknown {
  return hasSentences(schema as Schema) ? translateBy(schema as Schema, answer, translate) : answer
}

const known = new WeakMap<Schema, boolean>()

function hasSentences(schema: Schema): boolean {
  const { properties = {}, items, anyOf = [], [TRANSLATED]: isSentence = false } = schema
  const found =
    known.get(schema) ??
    (isSentence || [...Object.values(properties), ...anyOf, ...(items ? [items] : [])].some(hasSentences))
  known.set(schema, found)
  return found
}

function translateBy(schema: Schema, value: unknown, translate: Translate): unknown {
  if (!hasSentences(schema)) return value
  if (typeof value === 'string') return translate(value)
  if (schema[TRANSLATED]) return translateForm(value, translate)
  if (Array.isArray(value))
    return schema.items ? value.map((item) => translateBy(schema.items!, item, translate)) : value
  for (const option of schema.anyOf ?? []) {
    const translated = translateBy(option, value, translate)
    if (translated !== value) return translated
  }
  return schema.properties && isPlain(value)
    ? mapMembers(value, (member, name) => translateBy(schema.properties![name] ?? {}, member, translate))
    : value
}

const OF_FORM: ReadonlySet<string> = new Set(['title', 'description'])

function translateForm(part: unknown, translate: Translate): unknown {
  if (!isPlain(part)) return part
  return mapMembers(part, (member, name) => {
    if (typeof member === 'string') return OF_FORM.has(name) ? translate(member) : member
    return translateForm(member, translate)
  })
}

/** The members of a failure's `data` that people read, in lists of faults. */
const OF_DATA: ReadonlySet<string> = new Set(['reason', 'message', 'advice'])

/** @param failure `{code, message, data?}`, where `data` may list faults with a `reason` */
export function translateFailure(failure: unknown, translate: Translate): unknown {
  if (!isPlain(failure)) return failure
  return mapMembers(failure, (member, name) => {
    if (typeof member === 'string') return OF_DATA.has(name) ? translate(member) : member
    if (Array.isArray(member)) return member.map((each) => translateFailure(each, translate))
    return translateFailure(member, translate)
  })
}

/** Not a date, a list or bytes. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function mapMembers(value: Record<string, unknown>, map: (member: unknown, name: string) => unknown) {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member, name)]))
}
