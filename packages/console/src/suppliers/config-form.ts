/** The parts of JSON Schema that suppliers' configurations use. */
export interface ConfigSchema {
  type?: string
  title?: string
  description?: string
  default?: unknown
  properties?: Record<string, ConfigSchema>
  required?: string[]
  items?: ConfigSchema
  writeOnly?: boolean
  advanced?: boolean
  contentMediaType?: string
}

/** One input of the form. */
export interface ConfigField {
  /** Its path in the configuration, such as `iccidRange.first`. */
  name: string
  label: string
  description?: string | undefined
  kind: 'text' | 'secret' | 'pem' | 'number' | 'boolean' | 'lines'
  isRequired: boolean
  isSecret: boolean
  isAdvanced: boolean
  default?: unknown
}

/** The inputs for a schema, in its order. A nested object contributes its members, which are optional as a group. */
export function fieldsOf(schema: ConfigSchema, prefix = '', label = '', isOptional = false): ConfigField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([member, child]) => {
    const name = prefix + member
    const title = child.title ?? member
    if (child.type === 'object') return fieldsOf(child, `${name}.`, title, true)
    return {
      name,
      label: label === '' ? title : `${label}: ${title}`,
      description: child.description ?? (label === '' ? undefined : schema.description),
      kind: kindOf(child),
      isRequired: !isOptional && (schema.required ?? []).includes(member),
      isSecret: child.writeOnly ?? false,
      isAdvanced: child.advanced ?? false,
      default: child.default,
    }
  })
}

function kindOf(schema: ConfigSchema): ConfigField['kind'] {
  if (schema.contentMediaType !== undefined) return 'pem'
  if (schema.writeOnly) return 'secret'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'boolean') return 'boolean'
  return schema.type === 'array' ? 'lines' : 'text'
}

/** The value that applies if a field is empty. A check box shows this value itself. */
export function defaultOf({ kind, default: initial }: ConfigField): string | undefined {
  return initial === undefined || kind === 'boolean' ? undefined : String(initial)
}

/** The name of a field's input: a configuration may also have a member `password`. */
export function inputName({ name }: Pick<ConfigField, 'name'>): string {
  return `config.${name}`
}

/** A field's value as it is typed. Booleans are `on`, or empty. */
export function typedValue({ name, kind, default: initial }: ConfigField, config: Record<string, unknown>): string {
  const value = name
    .split('.')
    .reduce<unknown>((at, member) => (at as Record<string, unknown> | undefined)?.[member], config)
  if (kind === 'boolean') return (value ?? initial) === true ? 'on' : ''
  if (value === undefined) return ''
  return Array.isArray(value) ? value.join('\n') : String(value)
}

/** The configuration that was typed. Empty fields are left out; a secret that is left out stays as it is. */
export function configOf(fields: readonly ConfigField[], typed: Record<string, string>): Record<string, unknown> {
  const config: Record<string, unknown> = {}
  for (const field of fields) {
    const value = parseField(field, typed[inputName(field)] ?? '')
    if (value === undefined) continue
    const members = field.name.split('.')
    const last = members.pop()!
    let at = config
    for (const member of members) {
      at[member] ??= {}
      at = at[member] as Record<string, unknown>
    }
    at[last] = value
  }
  return config
}

function parseField({ kind, isSecret, default: initial }: ConfigField, typed: string): unknown {
  if (kind === 'boolean') {
    const isOn = typed === 'on'
    return isOn === initial ? undefined : isOn
  }
  const text = isSecret && kind === 'secret' ? typed : typed.trim()
  if (text === '') return undefined
  // Text that is not a number is sent as typed: the gateway's error states the member and its range.
  if (kind === 'number') return Number.isNaN(Number(text)) ? text : Number(text)
  if (kind === 'lines') return text.split(/[\s,]+/)
  return kind === 'pem' ? `${text}\n` : text
}
