import type { Credentials } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { NewSecretDialog } from './secret-dialogs.tsx'

const currencies = Intl.supportedValuesOf('currency')

export interface CreatedDealer extends Credentials {
  clientName: string
  currencyCode: string
}

/** Creates a dealer and shows its credentials once. `onCreated` is called once the person confirms that they are safe. */
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
      request={({ clientName = '', currencyCode = '' }) => ({
        method: 'POST',
        path: '/tenants',
        body: { clientName, currencyCode },
      })}
      onDone={(credentials, { clientName = '', currencyCode = '' }) =>
        setCreated({ ...credentials, clientName, currencyCode })
      }
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
    </ChangeDialog>
  )
}
