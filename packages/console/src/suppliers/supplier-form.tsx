import {
  Accordion,
  Checkbox,
  NumberInput,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { type ConfigField, type ConfigSchema, defaultOf, fieldsOf, inputName, typedValue } from './config-form.ts'

/** The inputs for a supplier's configuration, made from its schema. `secrets`: members that are set, and never shown. */
export function SupplierFields(props: {
  schema: ConfigSchema
  config?: Record<string, unknown>
  secrets?: readonly string[]
  readOnly?: boolean
  /** Required although the schema does not say so, such as `dailySpendLimit`, with its members. */
  required?: readonly string[]
  /** The gateway's errors, by field. */
  errors?: Readonly<Record<string, string>>
}) {
  const { schema, config = {}, secrets = [], readOnly = false, required = [], errors = {} } = props
  const fields = fieldsOf(schema).map((field) => ({
    ...field,
    isRequired: field.isRequired || required.some((name) => field.name === name || field.name.startsWith(`${name}.`)),
  }))
  const advanced = fields.filter(({ isAdvanced }) => isAdvanced)
  const inputs = (some: readonly ConfigField[]) => (
    <SimpleGrid cols={{ base: 1, sm: 2 }} verticalSpacing="md">
      {some.map((field) => (
        <SupplierField
          key={field.name}
          field={field}
          value={typedValue(field, config)}
          isSet={secrets.includes(field.name)}
          readOnly={readOnly}
          error={errors[field.name]}
        />
      ))}
    </SimpleGrid>
  )
  return (
    <Stack gap="md" data-from-gateway>
      {fields.length === 0 && <Text size="sm">{t.suppliers.noSettings}</Text>}
      {inputs(fields.filter(({ isAdvanced }) => !isAdvanced))}
      {advanced.length > 0 && (
        <Accordion variant="contained" defaultValue={advanced.some(({ name }) => name in errors) ? 'advanced' : null}>
          <Accordion.Item value="advanced">
            <Accordion.Control>{t.suppliers.advanced}</Accordion.Control>
            <Accordion.Panel>
              <Stack gap="md">
                <Hint>{t.suppliers.advancedHint}</Hint>
                {inputs(advanced)}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
    </Stack>
  )
}

function SupplierField(props: {
  field: ConfigField
  value: string
  isSet: boolean
  readOnly: boolean
  error: string | undefined
}) {
  const { field, value, isSet, readOnly, error } = props
  const common = {
    name: inputName(field),
    label: field.label,
    description: isSet ? t.suppliers.secretSet : descriptionOf(field),
    required: field.isRequired && !isSet,
    readOnly,
    ...(error !== undefined && { error }),
  }
  switch (field.kind) {
    case 'secret':
      return <PasswordInput {...common} autoComplete="off" />
    case 'pem':
      return <Textarea {...common} defaultValue={value} autosize minRows={2} maxRows={8} spellCheck={false} />
    case 'lines':
      return <Textarea {...common} defaultValue={value} autosize minRows={2} maxRows={8} />
    case 'boolean':
      return (
        <Checkbox
          name={inputName(field)}
          label={field.label}
          description={field.description}
          defaultChecked={value === 'on'}
          disabled={readOnly}
        />
      )
    case 'number':
      return <NumberInput {...common} defaultValue={value} maw={240} hideControls />
    default:
      return <TextInput {...common} defaultValue={value} />
  }
}

function descriptionOf(field: ConfigField): string | undefined {
  const initial = defaultOf(field)
  if (initial === undefined) return field.description
  return [field.description, formatMessage(t.suppliers.emptyField, { value: initial })].filter(Boolean).join(' ')
}
