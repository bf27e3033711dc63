import type { TSchema } from 'typebox'
import { codes, failureCodes } from '#codes/codes.ts'
import { type DryRunName, dryRuns } from '#requests/dry-runs.ts'
import { actionAnswer } from '#schemas/actions.ts'
import { type OperationName, operationNames, operations } from '#schemas/operations.ts'
import { orderLine } from '#schemas/orders.ts'
import { locationNetwork, packageOffSale, packageOnSale } from '#schemas/packages.ts'
import { profile } from '#schemas/profiles.ts'
import { events } from '#schemas/webhooks.ts'
import { publishedPattern } from '#text-patterns.ts'
import { addPropertyExamples } from './property-examples.ts'

/** A node of the document. */
export type Json = { [member: string]: unknown }

/** The names of the contract's schemas in the document. */
export function namedSchemas(): Map<TSchema, string> {
  const named = new Map<TSchema, string>([
    [profile, 'Profile'],
    [packageOnSale, 'PackageOnSale'],
    [packageOffSale, 'PackageOffSale'],
    [locationNetwork, 'LocationNetwork'],
    [orderLine, 'OrderLine'],
    [actionAnswer, 'Action'],
  ])
  for (const name of operationNames) {
    named.set(operations[name].request, `${schemaName(name)}Request`)
    // Several operations share one answer, which already has a name.
    if (!named.has(operations[name].answer)) named.set(operations[name].answer, `${schemaName(name)}Answer`)
  }
  for (const [name, { request, answer }] of Object.entries(dryRuns)) {
    const id = schemaName(name as DryRunName)
    named.set(request, `${id}DryRun`).set(answer, `${id}DryRunAnswer`)
  }
  for (const [type, { body }] of Object.entries(events)) named.set(body, `${pascal(type)}Event`)
  return named
}

/** `components.schemas`: every named schema once, with references to nested ones, and one failure per code. */
export function componentSchemas(): Json {
  const named = namedSchemas()
  const schemas: Json = {}
  for (const [schema, name] of named) schemas[name] = addPropertyExamples(expandSchema(schema, named))
  schemas.FaultDetail = addPropertyExamples(FAULT_DETAIL)
  for (const code of failureCodes) schemas[failureName(code)] = addPropertyExamples(failureSchema(code, named))
  return schemas
}

export function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` }
}

/** The body of an operation: one form, plus a second one for dry runs if there are any. */
export function eitherOf(schemas: readonly (TSchema | undefined)[]): Json {
  const named = namedSchemas()
  const [first, ...others] = schemas.flatMap((schema) => schema ?? []).map((schema) => reference(named.get(schema)!))
  return others.length === 0 ? first! : { type: 'object', anyOf: [first, ...others] }
}

/** The example of an operation, with a second one for its dry run. */
export function examplesOf(example: object, ofDryRun: object | undefined): Json {
  if (ofDryRun === undefined) return { example }
  return {
    examples: { call: { summary: 'Buys', value: example }, dryRun: { summary: 'A dry run', value: ofDryRun } },
  }
}

/** `esim/profile/list` → `EsimProfileList`. */
export function schemaName(name: OperationName): string {
  return pascal(name)
}

/** `PARAMETER_MISSING` → `ParameterMissing`; `PackageOffSaleFailure` where another schema has the name. */
export function failureName(code: keyof typeof codes): string {
  const name = pascal(codes[code].name)
  return [...namedSchemas().values()].includes(name) ? `${name}Failure` : name
}

const FAULT_DETAIL = {
  type: 'object',
  required: ['field', 'reason'],
  properties: {
    field: { type: 'string', description: 'Path of the member, or name of the header.' },
    reason: { type: 'string', description: 'What to do.' },
  },
}

const MESSAGE = 'What to do next. For people; programs use `code`.'

function failureSchema(code: keyof typeof codes, named: Map<TSchema, string>): Json {
  const { message, remedy, data } = codes[code]
  const extra = expandSchema(data, named)
  return {
    type: 'object',
    description: remedy,
    required: ['code', 'message', 'data'],
    properties: {
      code: { type: 'string', const: code },
      message: { type: 'string', description: MESSAGE, examples: [message] },
      data: {
        type: 'object',
        required: ['requestId', 'details', ...((extra.required as string[] | undefined) ?? [])],
        properties: {
          requestId: {
            type: 'string',
            description: 'The RT-RequestID of the request, or a generated one if it was missing or malformed.',
          },
          details: { type: 'array', items: reference('FaultDetail') },
          ...(extra.properties as Json),
        },
      },
    },
  }
}

/** Converts a schema to plain JSON: nested named schemas become references, and enumerations get their type. */
export function expandSchema(node: unknown, named: Map<TSchema, string>): Json {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    const name = named.get(value)
    return name && value !== node ? reference(name) : copyMembers(value as Json)
  }
  const copyMembers = (value: Json): Json => {
    const copied = withType(Object.fromEntries(Object.entries(value).map(([member, part]) => [member, copy(part)])))
    if (typeof copied.pattern === 'string') copied.pattern = publishedPattern(copied.pattern)
    const [first] = Array.isArray(value.enum) ? value.enum : []
    return first === undefined ? copied : { type: typeof first === 'number' ? 'integer' : 'string', ...copied }
  }
  return copyMembers(node as Json)
}

/**
 * Adds the type to an `anyOf` of two schemas: some viewers do not recognise it as a schema otherwise. "A type or null"
 * becomes one schema with both types, which is equivalent and is shown on one line.
 */
function withType(schema: Json): Json {
  const { anyOf, ...rest } = schema
  const [one, none] = (Array.isArray(anyOf) && anyOf.length === 2 ? anyOf : []) as (Json | undefined)[]
  if (one?.$ref && none?.$ref) return { type: 'object', ...schema } // every named schema is an object
  if (typeof one?.type !== 'string' || typeof none?.type !== 'string') return schema
  if (none.type !== 'null') return one.type === none.type ? schema : { type: [one.type, none.type], ...schema }
  const members = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {}
  return { ...one, ...members, ...rest, type: [one.type, 'null'] }
}

export function pascal(name: string): string {
  return name
    .toLowerCase()
    .split(/[/_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
