import { JSON_DEPTH_MAX } from '@dealer-esim/contract'
import { listMemberFaults, type MemberFault } from '@dealer-esim/lib/schema-faults.ts'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'

/** Each route is there twice, outside of test mode and in it. */
const compiled = new WeakMap<TSchema, ReturnType<typeof Compile<TSchema>>>()

/** Checks a part of a request. Query and path are text, so numbers and booleans in them are converted; bodies are not. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const check = compiled.get(schema) ?? Compile(schema)
  compiled.set(schema, check)
  return (value: unknown) => {
    // A file, which the importer checks.
    if (value instanceof Uint8Array)
      return isFile(schema) ? { value } : { error: new InvalidRequest(['/ must be JSON']) }
    const converted = httpPart === 'body' ? value : Value.Convert(schema, value)
    const problem = findUnstorable(converted, 0)
    if (problem !== undefined) return { error: new InvalidRequest([`/ ${problem}`]) }
    if (check.Check(converted)) return { value: converted }
    const faults = check.Errors(converted).map((fault) => `${fault.instancePath || '/'} ${fault.message}`)
    const members = httpPart === 'body' ? listMemberFaults(schema, converted).slice(0, FAULTS_MAX) : []
    return { error: new InvalidRequest([...new Set(faults)].slice(0, FAULTS_MAX), members) }
  }
}

/** The schema of file-answers.ts. */
function isFile(schema: TSchema): boolean {
  return (schema as { type?: string }).type === 'string'
}

const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * PostgreSQL cannot store U+0000, and UTF-8 cannot encode a lone surrogate. The depth is limited because thousands of
 * nested brackets, which fit into a body, would overflow the stack of code that walks through them.
 */
function findUnstorable(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string')
    return value.includes('\0') || LONE_SURROGATE.test(value) ? 'contains U+0000 or a lone surrogate' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === JSON_DEPTH_MAX) return `is nested deeper than ${JSON_DEPTH_MAX}`
  for (const member of Object.values(value)) {
    const problem = findUnstorable(member, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

const FAULTS_MAX = 10

export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest'
  /** The faulty members of a body, which a form shows next to its fields. */
  readonly members: readonly MemberFault[]
  constructor(faults: string[], members: readonly MemberFault[] = []) {
    super(`The request does not match the documented format: ${faults.join('; ')}.`)
    this.members = members
  }
}
