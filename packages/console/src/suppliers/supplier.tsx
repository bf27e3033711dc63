import type {
  SupplierConfigDetail,
  SupplierRow,
  SupplierTested,
  SupplierTypeRow,
} from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Alert, Button, Group, List, Stack, Text } from '@mantine/core'
import { useLocation, useParams } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { MoreMenu, Record } from '#design/record.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { fieldErrors, formError, formFields, markSaved } from '#parts/form-values.ts'
import { formatMoney } from '#parts/format.ts'
import { ErrorText, LoadError, Loading } from '#parts/load-states.tsx'
import { Card, NotFound, Page } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Timestamp } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { canOperate, isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { SupplierCatalogue } from '#products/sync-card.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { DocsLink, typeLabel } from './add-supplier.tsx'
import { type ConfigSchema, configOf, fieldsOf } from './config-form.ts'
import { SupplierBalance } from './supplier-balance.tsx'
import { SupplierFigures } from './supplier-figures.tsx'
import { SupplierFields } from './supplier-form.tsx'
import { SETTINGS, SUPPLIERS, supplierPage } from './supplier-paths.ts'
import { SupplierSentence, usePausing } from './supplier-state.tsx'
import { VerifySupplier } from './verify-supplier.tsx'

const REFRESH_MS = 10_000

/** One supplier: its state and its configuration. */
export function SupplierPage() {
  const { supplier } = useParams({ strict: false }) as { supplier: string }
  const me = useSession()
  const list = useApi<{ suppliers: SupplierRow[] }>('/suppliers', {}, { refreshMs: REFRESH_MS })
  const row = list.data?.suppliers.find((one) => one.supplier === supplier)
  const pausing = usePausing(row)
  if (list.data && !row) return <NotFound />
  const more = pausing.action && canOperate(me) ? [pausing.action] : []
  return (
    <Page
      title={supplier}
      mark={row && typeLabel(row.type).toLowerCase() !== supplier && <Text c="dimmed">{typeLabel(row.type)}</Text>}
      back={{ to: SUPPLIERS, label: t.suppliers.title }}
      actions={<MoreMenu actions={more} />}
    >
      {list.error && !row && <LoadError error={list.error} retry={list.refetch} />}
      {list.isLoading && <Loading />}
      {row && <SupplierSentence row={row} />}
      {row && <Verification row={row} />}
      {row && (
        <Record rail={<SupplierBalance supplier={supplier} />}>
          <SupplierCatalogue supplier={supplier} />
          <SupplierFigures supplier={supplier} />
          {isOperatorAdmin(me) && <SupplierSettings supplier={supplier} />}
        </Record>
      )}
      {pausing.dialog}
    </Page>
  )
}

/** A supplier's status until a purchase has verified it on this gateway, and its daily spend limit. */
function Verification({ row }: { row: SupplierRow }) {
  const { supplier, status, verifiedAt, verificationFault, heldAgainst, unsettled, dailySpend } = row
  const me = useSession()
  return (
    <>
      {verificationFault !== null && (
        <Alert color="red" role="alert" title={t.suppliers.verificationFault}>
          {verificationFault}
        </Alert>
      )}
      {row.eventsUnproven && (
        <Alert color="orange" title={t.suppliers.eventsUnproven}>
          {t.suppliers.eventsUnprovenText}
        </Alert>
      )}
      {status !== null && (
        <Alert color="orange" title={status}>
          <Stack gap="xs" align="flex-start">
            {t.suppliers.verifyText}
            <Statements heading={t.suppliers.heldAgainst} texts={heldAgainst} />
            <Statements heading={t.suppliers.unsettled} texts={unsettled} />
            {isOperatorAdmin(me) && <VerifySupplier supplier={supplier} />}
          </Stack>
        </Alert>
      )}
      {verifiedAt !== null && (
        <Text size="sm" component="div">
          {t.suppliers.verified} <Timestamp time={verifiedAt} />
        </Text>
      )}
      {dailySpend !== null && (
        <Text size="sm">
          {formatMessage(t.suppliers.dailySpend, {
            spent: formatMoney(dailySpend.spent, dailySpend.currencyCode),
            limit: formatMoney(dailySpend.limit, dailySpend.currencyCode),
          })}
        </Text>
      )}
    </>
  )
}

function Statements({ heading, texts }: { heading: string; texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <div>
      <Text size="sm">{heading}</Text>
      <List size="sm">
        {texts.map((text) => (
          <List.Item key={text}>{text}</List.Item>
        ))}
      </List>
    </div>
  )
}

function SupplierSettings({ supplier }: { supplier: string }) {
  const stored = useApi<SupplierConfigDetail>(`${supplierPage(supplier)}/config`)
  const types = useApi<{ types: SupplierTypeRow[] }>('/supplier-types')
  const type = types.data?.types.find((one) => one.type === stored.data?.type)
  if (!stored.data || !type) return null
  return (
    <UnsavedWarning>
      {/* A saved configuration is shown as it was stored. */}
      <SettingsForm key={JSON.stringify(stored.data)} stored={stored.data} type={type} />
    </UnsavedWarning>
  )
}

function SettingsForm({ stored, type }: { stored: SupplierConfigDetail; type: SupplierTypeRow }) {
  const save = useChange<SupplierTested>({
    quiet: true,
    success: ({ works, words }) =>
      works ? t.suppliers.saved : new Error(formatMessage(t.suppliers.savedFailing, { message: words ?? '' })),
  })
  const form = useRef<HTMLFormElement>(null)
  const [changed, setChanged] = useState(false)
  const [typed, setTyped] = useState<Record<string, unknown>>()
  const location = useLocation()
  // A failed test links here.
  useEffect(() => {
    if (location.hash === SETTINGS) form.current?.querySelector('input')?.focus()
  }, [location])
  const schema = type.config as ConfigSchema
  const fields = fieldsOf(schema)
  function confirm(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    save.reset()
    setTyped(configOf(fields, formFields(event.currentTarget)))
  }
  function close() {
    save.reset()
    setTyped(undefined)
  }
  return (
    <>
      <form ref={form} onSubmit={confirm} onInput={() => setChanged(true)}>
        <Card title={t.suppliers.settings} actions={<DocsLink docs={type.docs} />}>
          {stored.config === null && <ErrorText>{t.suppliers.unreadable}</ErrorText>}
          <SupplierFields
            schema={schema}
            config={stored.config ?? {}}
            secrets={stored.secrets}
            errors={save.error ? fieldErrors(save.error) : {}}
          />
          {save.error && !typed && <ErrorText>{formError(save.error)}</ErrorText>}
          {fields.length > 0 && (
            <Group>
              <Button type="submit" variant={changed ? 'filled' : 'default'}>
                {t.common.save}
              </Button>
            </Group>
          )}
        </Card>
      </form>
      {typed && (
        <Dialog
          title={t.suppliers.saveTitle}
          opened
          onClose={close}
          submit={t.common.save}
          busy={save.isPending}
          error={save.error}
          onSubmit={(credentials) =>
            save.mutate(
              {
                method: 'PUT',
                path: `${supplierPage(stored.supplier)}/config`,
                body: { ...credentials, config: typed },
              },
              {
                onSuccess() {
                  if (form.current) markSaved(form.current)
                  setChanged(false)
                  close()
                },
                // Errors are shown at their fields.
                onError: (error) => Object.keys(fieldErrors(error)).length > 0 && setTyped(undefined),
              },
            )
          }
        >
          <Text size="sm">{t.suppliers.saveText}</Text>
          <ReauthenticationFields />
        </Dialog>
      )}
    </>
  )
}
