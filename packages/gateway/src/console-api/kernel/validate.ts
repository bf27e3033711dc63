import { JSON_DEPTH_MAX } from '@dealer-esim/contract'
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
    const unfit = whyUnfit(converted, 0)
    if (unfit !== undefined) return { error: new InvalidRequest([`/ ${unfit}`]) }
    if (check.Check(converted)) return { value: converted }
    const faults = check.Errors(converted).map((fault) => `${fault.instancePath || '/'} ${fault.message}`)
    return { error: new InvalidRequest([...new Set(faults)].slice(0, FAULTS_MAX)) }
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * PostgreSQL cannot store U+0000, and UTF-8 cannot carry half a surrogate pair: neither is a text of ours. And brackets
 * within brackets by the thousand, which a body has room for, would leave no stack to whoever walks through them.
 */
function whyUnfit(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string')
    return value.includes('\0') || LONE_SURROGATE.test(value) ? 'holds U+0000 or half a surrogate pair' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === JSON_DEPTH_MAX) return `is nested deeper than ${JSON_DEPTH_MAX}`
  for (const member of Object.values(value)) {
    const why = whyUnfit(member, depth + 1)
    if (why !== undefined) return why
  }
  return undefined
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
