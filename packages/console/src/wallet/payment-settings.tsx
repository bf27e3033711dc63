import type { CurrencyPaymentSettings, OperatorDetailsView } from '@dealer-esim/gateway/http/console/wallet/payments.ts'
import { Button, Group, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoneyInput, formFields, parseMoneyInput } from '#parts/form-values.ts'
import { EmptyState, LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { SettingsCard } from '#parts/settings-card.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Hint } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

/** How dealers pay, by currency, and the operator's details on statements. Administrators change them. */
export function PaymentSettingsPage() {
  const list = useApi<{ currencies: CurrencyPaymentSettings[] }>('/payment-settings')
  const details = useApi<OperatorDetailsView>('/operator-details')
  const error = list.error ?? details.error
  return (
    <Page title={t.payments.title} description={t.payments.text}>
      {!(list.data && details.data) && (
        <LoadState error={error} retry={() => Promise.all([list.refetch(), details.refetch()])} />
      )}
      <UnsavedWarning>
        <Stack gap="md">
          {details.data && <Details key={JSON.stringify(details.data)} details={details.data} />}
          {list.data?.currencies.length === 0 && (
            <Card>
              <EmptyState title={t.payments.noCurrencies} />
            </Card>
          )}
          {list.data?.currencies.map((settings) => (
            <CurrencyCard key={JSON.stringify(settings)} settings={settings} />
          ))}
        </Stack>
      </UnsavedWarning>
    </Page>
  )
}

function Details({ details }: { details: OperatorDetailsView }) {
  const mayEdit = isOperatorAdmin(useSession())
  return (
    <SettingsCard
      title={t.payments.details}
      saveTo={{ method: 'PUT', path: '/operator-details' }}
      mayEdit={mayEdit}
      parse={({ legalName = null, taxId = null, address = null }) => ({ body: { legalName, taxId, address } })}
    >
      {(errors) => {
        const field = (name: keyof OperatorDetailsView) => ({
          name,
          defaultValue: details[name] ?? '',
          error: errors[name],
          readOnly: !mayEdit,
        })
        return (
          <>
            <Hint>{t.payments.detailsText}</Hint>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <TextInput {...field('legalName')} label={t.payments.legalName} maxLength={200} />
              <TextInput {...field('taxId')} label={t.payments.taxId} maxLength={64} />
            </SimpleGrid>
            <Textarea {...field('address')} label={t.payments.address} maxLength={500} autosize minRows={2} />
          </>
        )
      }}
    </SettingsCard>
  )
}

function CurrencyCard({ settings }: { settings: CurrencyPaymentSettings }) {
  const { currencyCode } = settings
  const isReadOnly = !isOperatorAdmin(useSession())
  const [changed, setChanged] = useState(false)
  const [amountError, setAmountError] = useState<string>()
  const [body, setBody] = useState<Omit<CurrencyPaymentSettings, 'currencyCode'>>()
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { bankDetails = null, paymentUrl = null, limit } = formFields(event.currentTarget)
    const read = limit === undefined ? { amount: null } : parseMoneyInput(limit)
    setAmountError('error' in read ? read.error : undefined)
    if (!('error' in read)) setBody({ bankDetails, paymentUrl, secondPersonAbove: read.amount })
  }
  return (
    <form onSubmit={submit} onInput={() => setChanged(true)} data-currency={currencyCode}>
      <Card title={formatMessage(t.payments.currency, { currency: currencyCode })}>
        <Textarea
          name="bankDetails"
          label={t.payments.bankDetails}
          description={t.payments.bankDetailsHint}
          defaultValue={settings.bankDetails ?? ''}
          maxLength={1_000}
          readOnly={isReadOnly}
          autosize
          minRows={3}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            name="paymentUrl"
            type="url"
            label={t.payments.paymentUrl}
            description={t.payments.paymentUrlHint}
            defaultValue={settings.paymentUrl ?? ''}
            maxLength={500}
            readOnly={isReadOnly}
          />
          <TextInput
            name="limit"
            label={formatMessage(t.payments.secondPersonAbove, { currency: currencyCode })}
            description={t.payments.secondPersonHint}
            inputMode="decimal"
            defaultValue={formatMoneyInput(settings.secondPersonAbove)}
            error={amountError}
            readOnly={isReadOnly}
          />
        </SimpleGrid>
        {!isReadOnly && (
          <Group>
            <Button type="submit" variant={changed ? 'filled' : 'default'}>
              {t.common.save}
            </Button>
          </Group>
        )}
      </Card>
      {body && <Reauthenticate currencyCode={currencyCode} settings={body} onClose={() => setBody(undefined)} />}
    </form>
  )
}

function Reauthenticate(props: { currencyCode: string; settings: object; onClose(): void }) {
  const { currencyCode, settings, onClose } = props
  return (
    <ChangeDialog
      title={t.payments.reauthenticate}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={(fields) => {
        const body = { ...settings, ...fields }
        return { method: 'PUT', path: `/payment-settings/${currencyCode}`, body }
      }}
    >
      <Text size="sm">{t.payments.reauthenticateText}</Text>
      <ReauthenticationFields />
    </ChangeDialog>
  )
}
