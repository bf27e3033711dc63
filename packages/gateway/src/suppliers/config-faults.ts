import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'

/** What is wrong with a configuration, a phrase for each fault: "url is missing". */
export function faultsOfConfig(schema: TSchema, config: unknown): string[] {
  return [...Value.Errors(schema, config)].flatMap((fault) => {
    const name = fault.instancePath.slice(1).replaceAll('/', '.')
    const inside = (member: string) => (name === '' ? member : `${name}.${member}`)
    switch (fault.keyword) {
      case 'boolean':
        return [] // of a member that additionalProperties names, too
      case 'required':
        return fault.params.requiredProperties.map((member) => `${inside(member)} is missing`)
      case 'additionalProperties':
        return fault.params.additionalProperties.map((member) => `there is no ${inside(member)}`)
      case 'pattern':
        return [`${name} must be ${FORMS[String(fault.params.pattern)] ?? `like ${fault.params.pattern}`}`]
      default:
        return [`${name === '' ? 'it' : name} ${fault.message}`]
    }
  })
}

const FORMS: Readonly<Record<string, string>> = {
  '^https?://': 'an address that begins with https://',
  '^[A-Za-z0-9_-]{8,64}$': '8 to 64 letters, digits, hyphens and underscores',
  '^v?\\d+\\.\\d+\\.\\d+$': 'a version like v2.5.0',
  '^\\d{19}$': '19 digits',
  '^([0-9A-Fa-f]{2}:?){32}$': 'a SHA-256 fingerprint: 64 hexadecimal digits',
}
