import type { TSchema } from 'typebox'
import { IsDateTime } from 'typebox/format'
import { FAULT_DETAILS_MAX } from '#limits.ts'
import { adviceFor } from '#text-patterns.ts'

/** A fault of one member of a request. */
export interface Fault {
  code: FaultCode
  /** A path such as `packageInfoList[0].count`. */
  field: string
  /** The remedy. */
  reason: string
}

/** Missing; null though required; too long or short; malformed, out of range or unknown. */
export type FaultCode = '000105' | '000106' | '000107' | '000108'

/** The JSON Schema keywords that request schemas use. Other keywords would be checked but not explained. */
interface Keywords {
  type?: string
  anyOf?: Keywords[]
  enum?: unknown[]
  const?: unknown
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  items?: Keywords
  properties?: Record<string, Keywords>
  required?: string[]
}

/**
 * Lists all faults of a value in the order of the schema's members, unknown members of an object last. Runs only after
 * the compiled schema has rejected the value, so it need not be fast; the number of faults collected is bounded.
 */
export function listFaults(schema: TSchema, value: unknown): Fault[] {
  return listFaultsAt(schema as Keywords, value, '')
}

/** Copies the value without null optional members, which count as absent. Members whose schema allows null are kept. */
export function withoutNulls(schema: TSchema, value: unknown): unknown {
  return strip(schema as Keywords, value)
}

/** The path of a member. Names that are not identifiers are quoted and truncated, because they come from outside. */
function memberPath(parent: string, member: string): string {
  if (!/^[A-Za-z_$][\w$]{0,63}$/.test(member))
    return `${parent}[${JSON.stringify([...member.slice(0, 128)].slice(0, 64).join(''))}]`
  return parent === '' ? member : `${parent}.${member}`
}

function listFaultsAt(schema: Keywords, value: unknown, field: string): Fault[] {
  const alternatives = schema.anyOf
  if (alternatives) return value === null ? [] : nullableFaults(alternatives[0] ?? {}, value, field)
  if (value === null && field !== '') return [{ code: '000106', field, reason: 'This must not be null: send a value.' }]
  if (schema.enum)
    return schema.enum.includes(value)
      ? []
      : [invalid(field, schema.enum.length === 1 ? `Use ${schema.enum[0]}.` : `Use one of ${schema.enum.join(', ')}.`)]
  if (schema.const !== undefined) return value === schema.const ? [] : [invalid(field, `Send ${schema.const}.`)]
  switch (schema.type) {
    case 'object':
      return isRecord(value) ? objectFaults(schema, value, field) : [invalid(field, 'Send a JSON object.')]
    case 'array':
      return Array.isArray(value) ? arrayFaults(schema, value, field) : [invalid(field, 'Send a JSON array.')]
    case 'string':
      return typeof value === 'string' ? stringFaults(schema, value, field) : [invalid(field, 'Send a string.')]
    case 'integer':
      return integerFaults(schema, value, field)
    case 'boolean':
      return typeof value === 'boolean' ? [] : [invalid(field, 'Send true or false.')]
    default:
      return []
  }
}

/** Programs that do not have null send an empty text to remove a value. */
function nullableFaults(schema: Keywords, value: unknown, field: string): Fault[] {
  const faults = listFaultsAt(schema, value, field)
  if (value !== '') return faults
  return faults.map((fault) => ({ ...fault, reason: `Send null to remove it, or ${lowerFirst(fault.reason)}` }))
}

function lowerFirst(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

function objectFaults(schema: Keywords, value: Record<string, unknown>, field: string): Fault[] {
  const known = schema.properties ?? {}
  const faults: Fault[] = []
  for (const [member, part] of Object.entries(known)) {
    const path = memberPath(field, member)
    if (Object.hasOwn(value, member)) faults.push(...listFaultsAt(part, value[member], path))
    else if (schema.required?.includes(member)) faults.push({ code: '000105', field: path, reason: 'Missing: add it.' })
  }
  const unknown = Object.keys(value).filter((member) => !Object.hasOwn(known, member))
  const names = Object.keys(known)
  const advice = names.length > 0 ? `Allowed are ${names.join(', ')}.` : 'No members are allowed: send {}.'
  for (const member of unknown.slice(0, FAULT_DETAILS_MAX)) {
    faults.push(invalid(memberPath(field, member), `Unknown: remove it or correct its name. ${advice}`))
  }
  return faults
}

/** A wrong number of items is out of range: 000108. Items beyond the maximum are not checked. */
function arrayFaults(schema: Keywords, value: unknown[], field: string): Fault[] {
  const { minItems = 0, maxItems } = schema
  const faults: Fault[] = []
  if (value.length < minItems || (maxItems !== undefined && value.length > maxItems)) {
    faults.push(
      invalid(field, maxItems === undefined ? `Send at least ${minItems}.` : `Send ${minItems} to ${maxItems} items.`),
    )
  }
  const checked = value.slice(0, maxItems ?? FAULT_DETAILS_MAX)
  checked.forEach((item, i) => {
    faults.push(...listFaultsAt(schema.items ?? {}, item, `${field}[${i}]`))
    if (schema.uniqueItems && checked.indexOf(item) < i)
      faults.push(invalid(`${field}[${i}]`, 'This item appears twice: send it only once.'))
  })
  return faults
}

/** Lengths count Unicode characters (code points), as JSON Schema and PostgreSQL do. */
function stringFaults(schema: Keywords, value: string, field: string): Fault[] {
  const { minLength = 0, maxLength } = schema
  const length = lengthOf(value)
  if (length < minLength || (maxLength !== undefined && length > maxLength)) {
    const range =
      maxLength === undefined
        ? `at least ${minLength}`
        : minLength === 0
          ? `at most ${maxLength}`
          : `${minLength} to ${maxLength}`
    return [{ code: '000107', field, reason: `Use ${range} characters.` }]
  }
  const { pattern, format } = schema
  const matches =
    (pattern === undefined || new RegExp(pattern, 'u').test(value)) && (format !== 'date-time' || IsDateTime(value))
  return matches ? [] : [invalid(field, adviceFor(pattern ?? ''))]
}

function integerFaults(schema: Keywords, value: unknown, field: string): Fault[] {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
  if (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum) return []
  return [invalid(field, `Send an integer from ${minimum} to ${maximum}.`)]
}

function strip(schema: Keywords, value: unknown): unknown {
  if (Array.isArray(value)) return schema.items ? value.map((item) => strip(schema.items ?? {}, item)) : value
  if (!isRecord(value) || !schema.properties) return value
  const { properties, required = [] } = schema
  const kept = Object.entries(value).flatMap(([member, part]) => {
    const known = Object.hasOwn(properties, member) ? properties[member] : undefined
    if (part === null && known && !known.anyOf && !required.includes(member)) return []
    return [[member, known ? strip(known, part) : part]]
  })
  return Object.fromEntries(kept)
}

function lengthOf(value: string): number {
  let length = 0
  for (const _ of value) length++
  return length
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(field: string, reason: string): Fault {
  return { code: '000108', field: field === '' ? 'body' : field, reason }
}
