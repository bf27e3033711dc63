import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'

/**
 * Lists how a value differs from a schema, such as "url is missing".
 * @param forms the meaning of each pattern, in words
 */
export function listSchemaFaults(
  schema: TSchema,
  value: unknown,
  forms: Readonly<Record<string, string>> = {},
): string[] {
  return [...Value.Errors(schema, value)].flatMap((fault) => {
    const name = fault.instancePath.slice(1).replaceAll('/', '.')
    const inside = (member: string) => (name === '' ? member : `${name}.${member}`)
    switch (fault.keyword) {
      case 'boolean':
        return [] // additionalProperties reports the same member
      case 'required':
        return fault.params.requiredProperties.map((member) => `${inside(member)} is missing`)
      case 'additionalProperties':
        return fault.params.additionalProperties.map((member) => `unknown member ${inside(member)}`)
      case 'pattern':
        return [`${name} must be ${forms[String(fault.params.pattern)] ?? `like ${fault.params.pattern}`}`]
      default:
        return [`${name === '' ? 'it' : name} ${fault.message}`]
    }
  })
}
