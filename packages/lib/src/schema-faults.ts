import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'

/** A fault of one member, such as `url` and `is missing`. */
export interface MemberFault {
  /** Its path, such as `iccidRange.first`. Empty: the value itself. */
  member: string
  reason: string
}

/**
 * Lists how a value differs from a schema, such as "url is missing".
 * @param forms the meaning of each pattern, in words
 */
export function listSchemaFaults(
  schema: TSchema,
  value: unknown,
  forms: Readonly<Record<string, string>> = {},
): string[] {
  return listMemberFaults(schema, value, forms).map(({ member, reason }) =>
    reason === UNKNOWN ? `unknown member ${member}` : `${member === '' ? 'it' : member} ${reason}`,
  )
}

const UNKNOWN = 'is unknown'

/** The same, by member. */
export function listMemberFaults(
  schema: TSchema,
  value: unknown,
  forms: Readonly<Record<string, string>> = {},
): MemberFault[] {
  return [...Value.Errors(schema, value)].flatMap((fault): MemberFault[] => {
    const name = fault.instancePath.slice(1).replaceAll('/', '.')
    const inside = (member: string) => (name === '' ? member : `${name}.${member}`)
    switch (fault.keyword) {
      case 'boolean':
        return [] // additionalProperties already reports this member
      case 'required':
        return fault.params.requiredProperties.map((member) => ({ member: inside(member), reason: 'is missing' }))
      case 'additionalProperties':
        return fault.params.additionalProperties.map((member) => ({ member: inside(member), reason: UNKNOWN }))
      case 'pattern':
        return [
          { member: name, reason: `must be ${forms[String(fault.params.pattern)] ?? `like ${fault.params.pattern}`}` },
        ]
      default:
        return [{ member: name, reason: fault.message }]
    }
  })
}
