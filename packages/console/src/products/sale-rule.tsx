import type { SaleRuleRow } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import {
  Box,
  Button,
  Checkbox,
  Group,
  Input,
  NativeSelect,
  SimpleGrid,
  Text,
  TextInput,
  type TextInputProps,
} from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, useMemo, useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { MoreMenu, Record } from '#design/record.tsx'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formFields, markSaved } from '#parts/form-values.ts'
import { ErrorText, LoadState } from '#parts/load-states.tsx'
import { Card, NotFound, Page } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Hint } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { RULE_PREVIEW, RULES, rulePath } from './product-paths.ts'
import { RuleEffect } from './rule-effect.tsx'
import { NEW_RULE, parseRule, type TypedRule, typedRule } from './sale-rule-form.ts'
import { ruleSentence } from './sale-rule-sentence.ts'

/** Folded, because the initial values fit most rules. An error in one of them unfolds them. */
const ADVANCED = ['position', 'supplierOrder', 'dayPassDaysMax', 'nameTemplate', 'codeTemplate']

/** As the gateway fills them in. */
const NAME_PLACEHOLDERS = '{place}, {data}, {days}, {name}, {supplier}, {product}'
const CODE_PLACEHOLDERS = { area: '{area}', topup: '{topup}' }

const BACK = { to: RULES, label: t.saleRules.title }

export function AddSaleRulePage() {
  return (
    <Page title={t.saleRules.add} description={t.saleRules.addText} back={BACK}>
      <UnsavedWarning>
        <RuleForm typed={NEW_RULE} />
      </UnsavedWarning>
    </Page>
  )
}

export function SaleRulePage() {
  const { ruleName } = useParams({ strict: false }) as { ruleName: string }
  const me = useSession()
  const list = useApi<{ rules: SaleRuleRow[] }>('/sale-rules')
  const [deleting, setDeleting] = useState(false)
  const row = list.data?.rules.find((one) => one.ruleName === ruleName)
  if (!list.data) return <LoadState error={list.error} retry={list.refetch} />
  if (!row) return <NotFound />
  return (
    <Page
      title={ruleName}
      description={row.isApplied ? t.saleRules.applied : t.saleRules.notAppliedText}
      back={BACK}
      actions={
        canOperate(me) && (
          <MoreMenu actions={[{ label: t.saleRules.delete, isDangerous: true, onClick: () => setDeleting(true) }]} />
        )
      }
    >
      <UnsavedWarning>
        <RuleForm key={JSON.stringify(row.rule)} ruleName={ruleName} typed={typedRule(row.rule)} />
      </UnsavedWarning>
      {deleting && <DeleteRule ruleName={ruleName} onClose={() => setDeleting(false)} />}
    </Page>
  )
}

function RuleForm({ ruleName, typed }: { ruleName?: string; typed: TypedRule }) {
  const me = useSession()
  const navigate = useNavigate()
  const { data: syncs } = useApi<{ syncs: { supplier: string }[] }>('/supplier-syncs')
  const save = useChange({ success: t.saleRules.saved, quiet: true })
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [fields, setFields] = useState(typed)
  const draft = useMemo(() => parseRule(fields), [fields])
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const { ruleName: newName = '', ...fields } = formFields(form)
    const parsed = parseRule(fields)
    setErrors('errors' in parsed ? parsed.errors : {})
    if ('errors' in parsed) return
    save.mutate(
      { method: 'PUT', path: rulePath(ruleName ?? newName), body: parsed.rule },
      {
        onSuccess: () => {
          markSaved(form)
          void navigate({ to: RULE_PREVIEW })
        },
        onError: (error: ApiError) => setErrors(fieldErrors(error)),
      },
    )
  }
  const labelOf = (name: string) => t.saleRules.fields[name as keyof typeof t.saleRules.fields]
  const input = (name: string, options: TextInputProps = {}) => (
    <TextInput
      name={name}
      label={labelOf(name)}
      defaultValue={typed[name] ?? ''}
      error={errors[name]}
      readOnly={!canOperate(me)}
      // The description stands below, so that inputs beside each other begin at one height.
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      {...options}
    />
  )
  const short = (name: string, options?: TextInputProps) =>
    input(name, { styles: { wrapper: { maxWidth: 120 } }, ...options })
  const limit = (name: string) => <Box w={96}>{input(name, { label: undefined, 'aria-label': labelOf(name) })}</Box>
  const range = (label: string, min: string, max: string) => (
    <Input.Wrapper label={label} labelElement="div">
      <Group gap="xs" wrap="nowrap">
        {limit(min)} – {limit(max)}
      </Group>
    </Input.Wrapper>
  )
  const select = (name: string, choices: Record<string, string>) => (
    <NativeSelect
      name={name}
      label={labelOf(name)}
      defaultValue={typed[name] ?? ''}
      error={errors[name]}
      disabled={!canOperate(me)}
      data={Object.entries(choices).map(([value, label]) => ({ value: value === 'ANY' ? '' : value, label }))}
    />
  )
  const { choices } = t.saleRules
  return (
    <form onSubmit={submit} onChange={(event) => setFields(formFields(event.currentTarget))}>
      <Record
        rail={
          'rule' in draft && <RuleEffectCard ruleName={ruleName} rule={draft.rule} sentence={ruleSentence(fields)} />
        }
      >
        <Card title={t.saleRules.products}>
          <Hint>{t.saleRules.productsText}</Hint>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {ruleName === undefined && input('ruleName', { required: true })}
            {input('suppliers', { placeholder: (syncs?.syncs ?? []).map(({ supplier }) => supplier).join(', ') })}
            {input('countries', { description: t.saleRules.countriesHint })}
            {select('countriesMax', countryChoices(typed))}
            {select('packageType', choices.packageType)}
            {range(t.saleRules.dataRange, 'volumeMin', 'volumeMax')}
            {select('unlimited', choices.unlimited)}
            {range(t.saleRules.daysRange, 'daysMin', 'daysMax')}
            {select('dayPass', choices.dayPass)}
            {ruleName === undefined ? input('name') : <Box style={{ gridColumn: '1 / -1' }}>{input('name')}</Box>}
          </SimpleGrid>
        </Card>
        <Card title={t.saleRules.priceAndPackage}>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {short('currencyCode', { required: true })}
            {short('percent', { required: true })}
            {short('fixed')}
            {short('minMargin')}
            {short('rounding', { description: t.saleRules.roundingHint })}
            {select('whenCostsChange', choices.whenCostsChange)}
          </SimpleGrid>
          <details className="technical" open={ADVANCED.some((name) => name in errors)}>
            <summary>{t.saleRules.advanced}</summary>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              {short('position')}
              {select('supplierOrder', choices.supplierOrder)}
              {short('dayPassDaysMax')}
              {input('nameTemplate', { description: NAME_PLACEHOLDERS })}
              {input('codeTemplate', { description: formatMessage(t.saleRules.codeHint, CODE_PLACEHOLDERS) })}
            </SimpleGrid>
          </details>
          {save.error && <ErrorText>{save.error.message}</ErrorText>}
          {canOperate(me) && (
            <Group>
              <Button type="submit" loading={save.isPending}>
                {t.saleRules.saveAndPreview}
              </Button>
            </Group>
          )}
        </Card>
      </Record>
    </form>
  )
}

/** The usual choices, and the number that was set elsewhere. */
function countryChoices({ countriesMax = '' }: TypedRule): Record<string, string> {
  const { countriesMax: usual } = t.saleRules.choices
  return countriesMax === '' || countriesMax in usual ? usual : { ...usual, [countriesMax]: countriesMax }
}

/** The gateway's errors by input: those of the conditions are called filter.NAME. */
function fieldErrors({ data }: ApiError): Record<string, string> {
  const fields = (data.fields ?? {}) as Record<string, string>
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name.replace(/^filter\./, ''), text]))
}

function DeleteRule({ ruleName, onClose }: { ruleName: string; onClose(): void }) {
  const navigate = useNavigate()
  return (
    <ChangeDialog
      title={`${t.saleRules.delete}: ${ruleName}`}
      onClose={onClose}
      submit={t.saleRules.delete}
      danger
      success={t.saleRules.deleted}
      request={({ keepPackages }) => ({
        method: 'DELETE',
        path: `${rulePath(ruleName)}?keepPackages=${keepPackages === 'on'}`,
      })}
      onDone={() => void navigate({ to: RULES })}
    >
      <Text size="sm">{t.saleRules.deleteText}</Text>
      <Checkbox name="keepPackages" label={t.saleRules.keepPackages} />
    </ChangeDialog>
  )
}

function RuleEffectCard({
  sentence,
  ...rule
}: {
  ruleName: string | undefined
  rule: object
  sentence?: string | undefined
}) {
  return (
    <Card title={t.saleRules.effect.title}>
      {sentence && (
        <Text size="sm" fw={600}>
          {sentence}
        </Text>
      )}
      <RuleEffect {...rule} />
    </Card>
  )
}
