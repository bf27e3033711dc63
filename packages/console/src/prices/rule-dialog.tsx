import type { PackageRow } from '@dealer-esim/gateway/http/console/catalogue.ts'
import type { RuleBody } from '@dealer-esim/gateway/http/console/prices/plan-rule.ts'
import type { RulePreview } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Button, Group, NativeSelect, Select, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useRef, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { locationChoices } from '#catalogue/networks.ts'
import { Dialog } from '#parts/dialog.tsx'
import { fieldErrors, formFields, isCurrencyCode, parseMoneyInput } from '#parts/form-values.ts'
import { t } from '#strings/page-texts.ts'
import { momentOf } from '#strings/zone.ts'
import { apiPath } from './plan-or-group.tsx'
import { ShownPreview, submitProps } from './plan-rule-preview.tsx'

type Scope = keyof typeof t.prices.scopes
type Kind = keyof typeof t.prices.ruleTypes

/** Sets a rule of a plan. Its effect on all prices can be previewed before it is saved. */
export function RuleDialog({ planName, onClose }: { planName: string; onClose(): void }) {
  const path = apiPath('plan', planName)
  const set = useChange({ success: t.prices.saved, quiet: true })
  const preview = useChange<RulePreview>({ quiet: true })
  const [chosen, setChosen] = useState<Chosen>({ scope: 'ALL', target: null, kind: 'percent' })
  function choose(value: Chosen) {
    setChosen(value)
    preview.reset()
  }
  const [typedErrors, setTypedErrors] = useState<Record<string, string>>({})
  const text = useRef<HTMLParagraphElement>(null)
  const failure = set.error ?? preview.error
  const errors: Record<string, string> = { ...(failure && fieldErrors(failure)), ...typedErrors }

  /** Passes the rule on unless it has a fault, which is then shown at its input. */
  function withRule(fields: Record<string, string>, use: (rule: RuleBody) => void) {
    const parsed = parseRule(fields, chosen)
    setTypedErrors('errors' in parsed ? parsed.errors : {})
    if ('rule' in parsed) use(parsed.rule)
  }
  function showPreview() {
    const form = text.current?.closest('form')
    if (!form) return
    const fields = formFields(form)
    set.reset()
    withRule(fields, (rule) => {
      // A fixed price has an effect only in its own currency.
      const currencyCode = rule.currencyCode ?? (fields.previewCurrency ?? '').toUpperCase()
      if (isCurrencyCode(currencyCode))
        return preview.mutate({ method: 'POST', path: `${path}/preview`, body: { rule, currencyCode } })
      const input = rule.currencyCode === undefined ? 'previewCurrency' : 'currencyCode'
      setTypedErrors({ [input]: t.prices.currencyInvalid })
    })
  }

  return (
    <Dialog
      title={`${t.prices.setRule}: ${planName}`}
      opened
      size="xl"
      onClose={onClose}
      {...submitProps(t.prices.setRule, preview.data)}
      busy={set.isPending}
      error={Object.keys(errors).length > 0 ? null : failure}
      onSubmit={(fields) =>
        withRule(fields, (body) => set.mutate({ method: 'PUT', path: `${path}/rules`, body }, { onSuccess: onClose }))
      }
    >
      {/* A preview is that of what was typed then. */}
      <Stack gap="md" onChange={() => preview.reset()}>
        <Text size="sm" ref={text}>
          {t.prices.setRuleText}
        </Text>
        <PackagesFields chosen={chosen} onChange={choose} errors={errors} />
        {isPercent(chosen) ? <PercentFields errors={errors} /> : <PriceFields errors={errors} />}
        <ValidityFields errors={errors} />
        <Group align="flex-end">
          {isPercent(chosen) && (
            <TextInput
              name="previewCurrency"
              label={t.prices.previewCurrency}
              defaultValue="USD"
              maxLength={3}
              error={errors.previewCurrency}
              w={220}
            />
          )}
          <Button variant="default" loading={preview.isPending} onClick={showPreview}>
            {t.prices.preview}
          </Button>
        </Group>
      </Stack>
      {preview.data && !preview.isPending && <ShownPreview preview={preview.data} />}
    </Dialog>
  )
}

interface Chosen {
  scope: Scope
  target: string | null
  kind: Kind
}

/** A rule for a location or a supplier has no fixed price. */
function isPercent({ scope, kind }: Chosen): boolean {
  return kind === 'percent' || scope === 'LOCATION' || scope === 'SUPPLIER'
}

function parseRule(
  fields: Record<string, string>,
  chosen: Chosen,
): { rule: RuleBody } | { errors: Record<string, string> } {
  const { scope, target } = chosen
  const price = isPercent(chosen) ? undefined : parseMoneyInput(fields.price ?? '')
  const errors: Record<string, string> = {}
  if (price && 'error' in price) errors.price = price.error
  if (scope !== 'ALL' && target === null) errors.packageCode = t.prices.targetMissing
  if (Object.keys(errors).length > 0) return { errors }
  const rule: RuleBody =
    price && 'amount' in price
      ? { price: price.amount, currencyCode: (fields.currencyCode ?? '').toUpperCase() }
      : { percent: fields.percent ?? '', basis: fields.basis === 'COST' ? 'COST' : 'LIST' }
  if (!price && fields.rounding !== undefined) rule.rounding = fields.rounding
  if (scope !== 'ALL' && target !== null) rule[MEMBERS[scope]] = target
  if (fields.validFrom !== undefined) rule.validFrom = momentOf(fields.validFrom).toISOString()
  if (fields.validUntil !== undefined) rule.validUntil = momentOf(fields.validUntil).toISOString()
  return { rule }
}

const MEMBERS = { PACKAGE: 'packageCode', LOCATION: 'locationCode', SUPPLIER: 'supplier' } as const

interface PackagesFieldsProps {
  chosen: Chosen
  onChange(chosen: Chosen): void
  errors: Record<string, string>
}

function PackagesFields({ chosen, onChange, errors }: PackagesFieldsProps) {
  const { scope, target, kind } = chosen
  const error = errors.packageCode ?? errors.locationCode ?? errors.supplier
  const targetProps = {
    value: target,
    onChange: (value: string | null) => onChange({ ...chosen, target: value }),
    error,
  }
  return (
    <>
      <NativeSelect
        label={t.prices.packages}
        value={scope}
        data={Object.entries(t.prices.scopes).map(([value, label]) => ({ value, label }))}
        onChange={(event) => onChange({ ...chosen, scope: event.currentTarget.value as Scope, target: null })}
      />
      {scope === 'PACKAGE' && <PackageSelect {...targetProps} />}
      {scope === 'LOCATION' && <LocationSelect {...targetProps} />}
      {scope === 'SUPPLIER' && <SupplierSelect {...targetProps} />}
      {(scope === 'ALL' || scope === 'PACKAGE') && (
        <NativeSelect
          label={t.prices.ruleType}
          value={kind}
          onChange={(event) => onChange({ ...chosen, kind: event.currentTarget.value as Kind })}
          data={Object.entries(t.prices.ruleTypes).map(([value, label]) => ({ value, label }))}
        />
      )}
    </>
  )
}

function ValidityFields({ errors }: { errors: Record<string, string> }) {
  return (
    <Group grow align="flex-start">
      <TextInput
        type="datetime-local"
        name="validFrom"
        label={t.prices.validFrom}
        description={t.prices.validFromHint}
        error={errors.validFrom}
      />
      <TextInput
        type="datetime-local"
        name="validUntil"
        label={t.prices.validUntil}
        description={t.prices.validUntilHint}
        error={errors.validUntil}
      />
    </Group>
  )
}

function PercentFields({ errors }: { errors: Record<string, string> }) {
  return (
    <>
      <TextInput
        name="percent"
        label={t.prices.percent}
        description={t.prices.percentHint}
        error={errors.percent}
        required
        maxLength={40}
      />
      <NativeSelect
        name="basis"
        label={t.prices.basis}
        description={t.prices.basisHint}
        data={Object.entries(t.prices.bases).map(([value, label]) => ({ value, label }))}
      />
      <TextInput
        name="rounding"
        label={t.prices.rounding}
        description={t.saleRules.roundingHint}
        error={errors.rounding}
        maxLength={100}
      />
    </>
  )
}

function PriceFields({ errors }: { errors: Record<string, string> }) {
  return (
    <Group grow align="flex-start">
      <TextInput name="price" label={t.prices.price} inputMode="decimal" required error={errors.price} />
      <TextInput
        name="currencyCode"
        label={t.prices.currency}
        defaultValue="USD"
        required
        maxLength={3}
        error={errors.currencyCode}
      />
    </Group>
  )
}

interface TargetProps {
  value: string | null
  onChange(value: string | null): void
  error: string | undefined
}

/** Finds a package by code or name. */
export function PackageSelect({ value, onChange, error }: TargetProps) {
  const [text, setText] = useState('')
  const [keyword] = useDebouncedValue(text, 200)
  const list = useApi<{ packages: PackageRow[] }>('/packages', { keyword: keyword.trim() || undefined })
  const options = (list.data?.packages ?? []).map(({ packageCode, name }) => ({
    value: packageCode,
    label: `${packageCode}: ${name}`,
  }))
  if (value !== null && !options.some((option) => option.value === value)) options.unshift({ value, label: value })
  return (
    <Select
      label={t.prices.package}
      placeholder={t.prices.search}
      data={options}
      value={value}
      onChange={onChange}
      onSearchChange={(typed) => setText(typed === options.find((one) => one.value === value)?.label ? '' : typed)}
      filter={({ options }) => options}
      error={error}
      searchable
      required
    />
  )
}

/** The number of locations rendered at a time: the rest are found by typing. */
const LOCATIONS_SHOWN = 60

function LocationSelect({ value, onChange, error }: TargetProps) {
  const data = useMemo(locationChoices, [])
  return (
    <Select
      label={t.prices.country}
      description={t.prices.countryHint}
      data={data}
      value={value}
      onChange={onChange}
      error={error}
      limit={LOCATIONS_SHOWN}
      searchable
      required
    />
  )
}

function SupplierSelect({ value, onChange, error }: TargetProps) {
  const list = useApi<{ suppliers: SupplierRow[] }>('/suppliers')
  return (
    <Select
      label={t.stock.supplier}
      description={t.prices.supplierHint}
      data={(list.data?.suppliers ?? []).map(({ supplier }) => supplier)}
      value={value}
      onChange={onChange}
      error={error}
      required
    />
  )
}
