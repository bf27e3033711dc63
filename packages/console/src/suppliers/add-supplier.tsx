import type { SupplierTested, SupplierTypeRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Anchor, Button, Group, Select, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { fieldErrors, formError, formFields, markSaved } from '#parts/form-values.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { type ConfigSchema, configOf, fieldsOf } from './config-form.ts'
import { SupplierFields } from './supplier-form.tsx'
import { SUPPLIERS, supplierPage } from './supplier-paths.ts'

export function AddSupplierPage() {
  const navigate = useNavigate()
  return (
    <Page title={t.suppliers.add} back={{ to: SUPPLIERS, label: t.suppliers.title }}>
      <AddSupplier onAdded={(supplier) => void navigate({ to: supplierPage(supplier) })} />
    </Page>
  )
}

/** Adds a supplier: its type, its name, and the configuration for that type. */
export function AddSupplier({ onAdded }: { onAdded(supplier: string): void }) {
  const { data } = useApi<{ types: SupplierTypeRow[] }>('/supplier-types')
  const [type, setType] = useState<string | null>(null)
  const chosen = data?.types.find((row) => row.type === type)
  return (
    <>
      <Card title={t.suppliers.type}>
        <Select
          label={t.suppliers.type}
          description={t.suppliers.typeHint}
          data={(data?.types ?? []).map((row) => ({ value: row.type, label: typeLabel(row.type) }))}
          value={type}
          onChange={setType}
          allowDeselect={false}
          maw={480}
        />
        {type !== null && type in t.suppliers.typeTexts && (
          <Text size="sm">{t.suppliers.typeTexts[type as keyof typeof t.suppliers.typeTexts]}</Text>
        )}
        {chosen && <DocsLink docs={chosen.docs} />}
      </Card>
      {chosen && <NewSupplierForm key={chosen.type} chosen={chosen} onAdded={onAdded} />}
    </>
  )
}

function NewSupplierForm({ chosen, onAdded }: { chosen: SupplierTypeRow; onAdded(supplier: string): void }) {
  const add = useChange<SupplierTested>({
    quiet: true,
    success: ({ works }) => (works ? t.suppliers.added : new Error(t.suppliers.addedFailing)),
  })
  const schema = chosen.config as ConfigSchema
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const { supplier = '', password, code, confirmation, ...typed } = formFields(form)
    const config = configOf(fieldsOf(schema), typed)
    const body = { supplier, type: chosen.type, config, password, code, confirmation }
    add.mutate(
      { method: 'POST', path: '/suppliers', body },
      {
        onSuccess() {
          markSaved(form)
          onAdded(supplier)
        },
      },
    )
  }
  return (
    <UnsavedWarning>
      <form onSubmit={submit}>
        <Card title={t.suppliers.settings}>
          <TextInput
            name="supplier"
            label={t.suppliers.name}
            description={t.suppliers.nameHint}
            defaultValue={chosen.type}
            required
            maxLength={64}
            maw={480}
          />
          <SupplierFields
            schema={schema}
            required={chosen.needsLimit ? ['dailySpendLimit'] : []}
            errors={add.error ? fieldErrors(add.error) : {}}
          />
          <ReauthenticationFields />
          {add.error && <ErrorText>{formError(add.error)}</ErrorText>}
          <Group>
            <Button type="submit" loading={add.isPending}>
              {t.suppliers.add}
            </Button>
          </Group>
        </Card>
      </form>
    </UnsavedWarning>
  )
}

/** A type's name for people: the company's or the interface's name. */
export function typeLabel(type: string): string {
  return t.suppliers.types[type as keyof typeof t.suppliers.types] ?? type
}

/** A link to the documentation of a supplier type, by file name, such as docs/zendit.md. */
export function DocsLink({ docs }: { docs: string }) {
  const { publicUrl } = useSession()
  return (
    <Anchor href={`${publicUrl}/${docs.replace(/\.md$/, '')}`} target="_blank" rel="noreferrer" size="sm">
      {t.suppliers.documentation}
    </Anchor>
  )
}
