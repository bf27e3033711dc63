import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'

/**
 * Checks a part of a request against its schema. Nothing is changed in a body; what comes as text by its nature (query
 * and path) is converted to numbers and booleans first.
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const check = Compile(schema)
  return (value: unknown) => {
    const converted = httpPart === 'body' ? value : Value.Convert(schema, value)
    if (!isStorable(converted)) return { error: new InvalidRequest(['/ holds U+0000 or half a surrogate pair']) }
    if (check.Check(converted)) return { value: converted }
    const faults = check.Errors(converted).map((fault) => `${fault.instancePath || '/'} ${fault.message}`)
    return { error: new InvalidRequest([...new Set(faults)].slice(0, FAULTS_MAX)) }
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u

/** PostgreSQL cannot store U+0000, and UTF-8 cannot carry half a surrogate pair: neither is a text of ours. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && !LONE_SURROGATE.test(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.values(value).every(isStorable)
}

const FAULTS_MAX = 10

export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest'
  readonly faults: string[]
  constructor(faults: string[]) {
    super(`The request does not have the form that is documented: ${faults.join('; ')}.`)
    this.faults = faults
  }
}
