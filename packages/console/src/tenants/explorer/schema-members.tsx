import { Stack, Text } from '@mantine/core'
import { Prose } from '#code/prose.tsx'
import { t } from '#strings/page-texts.ts'

interface Schema {
  type?: string
  properties?: Record<string, Schema>
  required?: readonly string[]
  items?: Schema
  anyOf?: Schema[]
  enum?: readonly unknown[]
  description?: string
}

/** Lists the members of an operation's request body, from the schema that the gateway validates with. */
export function SchemaMembers({ schema, indent = 0 }: { schema: object; indent?: number }) {
  const { properties = {}, required = [] } = schema as Schema
  const names = Object.keys(properties)
  if (names.length === 0) return <pre className="code">{'{}'}</pre>
  return (
    <Stack gap="xs" pl={indent}>
      {names.map((name) => {
        const schema = properties[name] as Schema
        const inner = schema.items?.properties ? schema.items : schema
        return (
          <div key={name}>
            <Text size="sm" component="div">
              <code>{name}</code>{' '}
              <Text span size="xs" c="dimmed">
                {typeText(schema)}
                {required.includes(name) && ` · ${t.explorer.required}`}
              </Text>
            </Text>
            {schema.description && (
              <Text size="xs" c="dimmed" component="div">
                <Prose text={schema.description} />
              </Text>
            )}
            {inner.properties && <SchemaMembers schema={inner} indent={16} />}
          </div>
        )
      })}
    </Stack>
  )
}

function typeText(schema: Schema): string {
  if (schema.enum) return schema.enum.join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' | ')
  if (schema.type === 'array') return `${schema.items ? typeText(schema.items) : ''}[]`
  return schema.type ?? ''
}
