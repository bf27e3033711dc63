import type { Credentials, TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Input, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { NewSecretDialog } from './secret-dialogs.tsx'

const currencies = Intl.supportedValuesOf('currency')

export interface CreatedDealer extends Credentials {
  clientName: string
  currencyCode: string
}

/**
 * Creates a dealer and shows its credentials once, unless it sells only in the portal. `onCreated` is called once the person
 * confirms that they are safe.
 */
export function NewDealer({ onClose, onCreated }: { onClose(): void; onCreated(dealer: CreatedDealer): void }) {
  const [created, setCreated] = useState<CreatedDealer>()
  if (created)
    return (
      <NewSecretDialog
        title={formatMessage(t.dealers.credentialsTitle, { name: created.clientName })}
        appKey={created.appKey}
        appSecret={created.appSecret}
        onClose={() => onCreated(created)}
      />
    )
  return (
    <ChangeDialog<Credentials>
      title={t.dealers.new}
      onClose={onClose}
      submit={t.dealers.create}
      request={(body) => ({ method: 'POST', path: '/tenants', body })}
      onDone={(credentials, { clientName = '', currencyCode = '', sellsThrough }) => {
        const dealer = { ...credentials, clientName, currencyCode }
        if (sellsThrough === 'PORTAL') onCreated(dealer)
        else setCreated(dealer)
      }}
    >
      <TextInput name="clientName" label={t.dealers.name} required maxLength={100} data-autofocus />
      <Select
        name="currencyCode"
        label={t.dealers.currency}
        description={t.dealers.currencyHint}
        data={currencies}
        defaultValue="USD"
        searchable
        allowDeselect={false}
        required
      />
      <Input.Wrapper label={t.dealers.sells} labelElement="div">
        <SellsThrough label={t.dealers.sells} />
      </Input.Wrapper>
    </ChangeDialog>
  )
}

/** A field of a form: the dealer sells only in the portal, or also by programs of its own. */
export function SellsThrough(props: { label: string; value?: TenantDetail['sellsThrough']; disabled?: boolean }) {
  const { label, value = 'API', disabled = false } = props
  const data = (['PORTAL', 'API'] as const).map((one) => ({ value: one, label: t.dealers.sellsThrough[one] }))
  return (
    <SegmentedControl
      name="sellsThrough"
      aria-label={label}
      defaultValue={value}
      data={data}
      disabled={disabled}
      fullWidth
      maw={400}
    />
  )
}
