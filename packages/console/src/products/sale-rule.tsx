import type { SaleRuleEffect, SaleRuleRow } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { type ApiError, call } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { PackageName } from '#catalogue/package-name.tsx'
import { MoreMenu, Record } from '#design/record.tsx'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formFields, markSaved } from '#parts/form-values.ts'
import { formatMoney, formatPercent } from '#parts/format.ts'
import { ErrorText, LoadError, Loading } from '#parts/load-states.tsx'
import { Card, NotFound, Page } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Amount, Hint } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { interpolate, plural, t } from '#strings/strings.ts'
import { RULE_PREVIEW, RULES, rulePath } from './product-paths.ts'
import { NEW_RULE, parseRule, type TypedRule, typedRule } from './sale-rule-form.ts'

/** How long after the last key press the effect of the typed rule is requested. */
const TYPING_MS = 400
/** Stands for a rule that has no name yet. */
const NEW_NAME = 'new'

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
  if (list.error && !list.data) return <LoadError error={list.error} retry={list.refetch} />
  if (!list.data) return <Loading />
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
  const [draft, setDraft] = useState(() => parseRule(typed))
  const [settledDraft] = useDebouncedValue(draft, TYPING_MS)
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
  const input = (name: string, options: { description?: string; placeholder?: string; required?: boolean } = {}) => (
    <TextInput
      name={name}
      label={t.saleRules.fields[name as keyof typeof t.saleRules.fields]}
      defaultValue={typed[name] ?? ''}
      error={errors[name]}
      readOnly={!canOperate(me)}
      {...options}
    />
  )
  const select = (name: string, choices: Record<string, string>) => (
    <NativeSelect
      name={name}
      label={t.saleRules.fields[name as keyof typeof t.saleRules.fields]}
      defaultValue={typed[name] ?? ''}
      error={errors[name]}
      disabled={!canOperate(me)}
      data={Object.entries(choices).map(([value, label]) => ({ value: value === 'ANY' ? '' : value, label }))}
    />
  )
  const { choices } = t.saleRules
  return (
    <form onSubmit={submit} onChange={(event) => setDraft(parseRule(formFields(event.currentTarget)))}>
      <Record rail={'rule' in settledDraft && <RuleEffect ruleName={ruleName} rule={settledDraft.rule} />}>
        <Card title={t.saleRules.products}>
          <Hint>{t.saleRules.productsText}</Hint>
          <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
            {ruleName === undefined && input('ruleName', { required: true })}
            {input('position')}
            {input('suppliers', { placeholder: (syncs?.syncs ?? []).map(({ supplier }) => supplier).join(', ') })}
            {input('countries', { description: t.saleRules.countriesHint })}
            {select('countriesMax', countryChoices(typed))}
            {select('packageType', choices.packageType)}
            {input('volumeMin')}
            {input('volumeMax')}
            {select('unlimited', choices.unlimited)}
            {input('daysMin')}
            {input('daysMax')}
            {select('dayPass', choices.dayPass)}
            {input('name')}
          </SimpleGrid>
        </Card>
        <Card title={t.saleRules.priceAndPackage}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
            {input('currencyCode', { required: true })}
            {input('percent', { required: true })}
            {input('fixed')}
            {input('minMargin')}
            {input('rounding', { description: t.saleRules.roundingHint })}
            {select('supplierOrder', choices.supplierOrder)}
            {select('whenCostsChange', choices.whenCostsChange)}
            {input('dayPassDaysMax')}
            {input('nameTemplate', { description: t.saleRules.templateHint })}
            {input('codeTemplate', { description: t.saleRules.codeHint })}
          </SimpleGrid>
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

/** What the rule would sell as currently typed. */
function RuleEffect({ ruleName = NEW_NAME, rule }: { ruleName: string | undefined; rule: object }) {
  const { data: effect, error } = useQuery<SaleRuleEffect, ApiError>({
    queryKey: ['/sale-rules/effect', ruleName, rule],
    queryFn: ({ signal }) => call<SaleRuleEffect>('POST', '/sale-rules/effect', { body: { ruleName, rule }, signal }),
    placeholderData: keepPreviousData,
  })
  const texts = t.saleRules.effect
  return (
    <Card title={texts.title}>
      <div role="status" aria-live="polite">
        {error && <Hint>{error.message}</Hint>}
        {effect && !error && <EffectFigures effect={effect} />}
      </div>
    </Card>
  )
}

function EffectFigures({ effect }: { effect: SaleRuleEffect }) {
  const texts = t.saleRules.effect
  const { currencyCode, packages, lowestPrice, lowestMargin, highestMargin, medianMargin, examples } = effect
  if (lowestPrice === null) return <Hint>{texts.nothing}</Hint>
  const percent = (value: number | null) => formatPercent((value ?? 0) / 100)
  return (
    <Stack gap="md">
      <Text fw={600}>
        {plural(texts.summary, packages, {
          price: formatMoney(lowestPrice, currencyCode),
          lowest: percent(lowestMargin),
          highest: percent(highestMargin),
        })}
      </Text>
      <Hint>{interpolate(texts.median, { margin: percent(medianMargin) })}</Hint>
      {examples.map(({ name, locationCodes, cost, price, margin }) => (
        <div key={`${name} ${price}`}>
          <PackageName name={name} location={locationCodes[0] ?? ''} more={locationCodes.length - 1} />
          <Group gap="xs" justify="space-between">
            <Text size="sm" fw={600}>
              <Amount value={price} currency={currencyCode} />
            </Text>
            <Hint>
              {interpolate(texts.example, { cost: formatMoney(cost, currencyCode), margin: percent(margin) })}
            </Hint>
          </Group>
        </div>
      ))}
    </Stack>
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
