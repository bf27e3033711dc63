import { ACTIVATION_POLICIES, DATA_TYPES, PACKAGE_STATUSES, PACKAGE_TYPES, SMS_STATUSES } from '@dealer-esim/contract'
import {
  Box,
  Checkbox,
  Group,
  Input,
  MultiSelect,
  NativeSelect,
  SimpleGrid,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { Card } from '#parts/page.tsx'
import { Copyable, Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { locationChoices } from './networks.ts'
import { errorAt, type TypedPackage, VOLUME_UNITS } from './package-form.ts'
import { PriceRows } from './price-rows.tsx'
import { SupplierRows } from './supplier-rows.tsx'

interface FieldsProps {
  typed: TypedPackage
  onChange(typed: TypedPackage): void
  errors: Record<string, string>
  /** The code and the type can be chosen only once. */
  isNew: boolean
}

type TextMember = { [Name in keyof TypedPackage]: TypedPackage[Name] extends string ? Name : never }[keyof TypedPackage]
type FlagMember = {
  [Name in keyof TypedPackage]: TypedPackage[Name] extends boolean ? Name : never
}[keyof TypedPackage]

const COLUMNS = { base: 1, sm: 2 }
/** The number of codes rendered at a time: the rest are found by typing. */
const LOCATIONS_SHOWN = 60

/** Every member of a package that an operator can edit, in cards. */
export function PackageFields(props: FieldsProps) {
  const { typed, onChange, errors } = props
  const { flag } = inputsOf(props)
  return (
    <>
      <BasicsCard {...props} />
      <DataCard {...props} />
      <CoverageCard {...props} />
      <PriceRows
        rows={typed.prices}
        suppliers={typed.suppliers}
        onChange={(prices) => onChange({ ...typed, prices })}
        errors={errors}
      />
      <SupplierRows rows={typed.suppliers} onChange={(suppliers) => onChange({ ...typed, suppliers })} errors={errors}>
        {flag('allowLoss', members.allowLoss, t.package.allowLossHint)}
      </SupplierRows>
      <TermsCard {...props} />
    </>
  )
}

const { members } = t.catalogue

/** The properties of a text input, and a complete check box, for a member of the package. */
function inputsOf({ typed, onChange, errors }: FieldsProps) {
  const text = (name: TextMember, label: string, at: string = name) => ({
    label,
    value: typed[name],
    error: errorAt(errors, at),
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...typed, [name]: event.currentTarget.value }),
  })
  const flag = (name: FlagMember, label: string, description?: string) => (
    <Checkbox
      label={label}
      description={description}
      checked={typed[name]}
      error={errorAt(errors, name)}
      onChange={(event) => onChange({ ...typed, [name]: event.currentTarget.checked })}
    />
  )
  return { text, flag }
}

function BasicsCard(props: FieldsProps) {
  const { typed, isNew } = props
  const { text } = inputsOf(props)
  return (
    <Card title={t.package.basics}>
      <SimpleGrid cols={COLUMNS} style={{ alignItems: 'start' }}>
        {isNew ? (
          <TextInput {...text('packageCode', t.catalogue.code)} description={t.package.codeHint} required />
        ) : (
          <FixedField label={t.catalogue.code}>
            <Copyable value={typed.packageCode} label={t.catalogue.code} />
          </FixedField>
        )}
        <TextInput {...text('name', members.name)} description={t.package.nameHint} required />
        <TextInput {...text('slug', members.slug)} description={t.package.slugHint} />
        {isNew ? (
          <NativeSelect
            {...text('packageType', members.packageType)}
            description={t.package.typeHint}
            data={choices(PACKAGE_TYPES, types)}
          />
        ) : (
          <FixedField label={members.packageType}>
            <Text size="sm">{types[typed.packageType as keyof typeof types]}</Text>
          </FixedField>
        )}
        <TextInput {...text('productFamily', members.productFamily)} description={t.package.familyHint} />
        <NativeSelect
          {...text('status', members.status)}
          description={t.package.statusHint}
          data={choices(PACKAGE_STATUSES, t.statuses)}
        />
      </SimpleGrid>
      <Textarea {...text('description', members.description)} autosize minRows={2} maxRows={8} />
    </Card>
  )
}

const types = t.saleRules.choices.packageType

/** A value that was chosen once, as text among the inputs. */
function FixedField({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Input.Wrapper label={label} labelElement="div" description={t.package.fixed} data-fixed={label}>
      <Box mt={8}>{children}</Box>
    </Input.Wrapper>
  )
}

function DataCard(props: FieldsProps) {
  const { typed } = props
  const { text, flag } = inputsOf(props)
  const isUnlimited = typed.dataType === 'UNLIMITED'
  return (
    <Card title={t.package.dataAndTime}>
      <SimpleGrid cols={COLUMNS} style={{ alignItems: 'start' }}>
        <NativeSelect {...text('dataType', members.dataType)} data={choices(DATA_TYPES, t.catalogue.dataTypes)} />
        <Group gap="xs" align="flex-start" wrap="nowrap">
          <TextInput
            {...text('volume', typed.dataType === 'DAILY' ? t.package.volumePerDay : members.volume)}
            inputMode="decimal"
            disabled={isUnlimited}
            value={isUnlimited ? '' : typed.volume}
          />
          <NativeSelect
            {...text('volumeUnit', t.package.unit)}
            error={undefined}
            disabled={isUnlimited}
            data={Object.keys(VOLUME_UNITS)}
            miw={80}
          />
        </Group>
        <TextInput
          {...text('duration', members.duration)}
          inputMode="numeric"
          disabled={typed.isDayPass}
          value={typed.isDayPass ? '1' : typed.duration}
        />
        <TextInput {...text('unusedValidTime', members.unusedValidTime)} inputMode="numeric" />
        <NativeSelect
          {...text('activationPolicy', members.activationPolicy)}
          data={choices(ACTIVATION_POLICIES, t.package.activationPolicies)}
        />
      </SimpleGrid>
      {flag('isDayPass', t.package.dayPass, t.package.dayPassHint)}
      {typed.isDayPass && (
        <SimpleGrid cols={COLUMNS} style={{ alignItems: 'start' }}>
          <TextInput {...text('periodNumMin', members.periodNumMin)} inputMode="numeric" />
          <TextInput {...text('periodNumMax', members.periodNumMax)} inputMode="numeric" />
        </SimpleGrid>
      )}
    </Card>
  )
}

function CoverageCard(props: FieldsProps) {
  const { typed, onChange, errors } = props
  const { text } = inputsOf(props)
  const locations = useMemo(locationChoices, [])
  return (
    <Card title={t.catalogue.coverage}>
      <MultiSelect
        label={t.package.locations}
        description={t.package.locationsHint}
        data={withUnknown(locations, typed.locationCodes)}
        value={typed.locationCodes}
        onChange={(locationCodes) => onChange({ ...typed, locationCodes })}
        error={errorAt(errors, 'locationCodes')}
        searchable
        clearable
        hidePickedOptions
        limit={LOCATIONS_SHOWN}
        clearButtonProps={{ 'aria-label': t.common.clear }}
        required
      />
      <Textarea
        {...text('networks', members.locationNetworkList, 'locationNetworkList')}
        description={t.package.networksHint}
        autosize
        minRows={2}
        maxRows={10}
        spellCheck={false}
      />
    </Card>
  )
}

function TermsCard(props: FieldsProps) {
  const { typed } = props
  const { text, flag } = inputsOf(props)
  return (
    <Card title={t.package.terms}>
      <SimpleGrid cols={COLUMNS} style={{ alignItems: 'start' }}>
        <TextInput {...text('speed', members.speed)} />
        <NativeSelect
          {...text('smsStatus', members.smsStatus)}
          data={choices(SMS_STATUSES.map(String), t.package.sms)}
        />
        {flag('ekycRequired', members.ekycRequired)}
      </SimpleGrid>
      <Textarea {...text('fupPolicy', members.fupPolicy)} autosize minRows={1} maxRows={6} />
      <Hint>{t.package.cancelText}</Hint>
      {flag('cancellable', t.package.cancellable)}
      {typed.cancellable && (
        <SimpleGrid cols={COLUMNS} style={{ alignItems: 'start' }}>
          <TextInput
            {...text('withinDays', t.package.withinDays, 'cancelPolicy.withinDays')}
            description={t.package.withinDaysHint}
            inputMode="numeric"
          />
          <TextInput {...text('feePercent', t.package.feePercent, 'cancelPolicy.feePercent')} inputMode="numeric" />
        </SimpleGrid>
      )}
    </Card>
  )
}

function choices(values: readonly string[], labels: Record<string, string>) {
  return values.map((value) => ({ value, label: labels[value] ?? value }))
}

/** A stored code that the browser does not know stays selectable. */
function withUnknown(known: { value: string; label: string }[], chosen: readonly string[]) {
  const missing = chosen.filter((code) => !known.some(({ value }) => value === code))
  return [...known, ...missing.map((code) => ({ value: code, label: code }))]
}
