import type { PriceRow } from '@dealer-esim/gateway/console-api/routes/prices/tenant-prices.ts'
import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { formatMoneyInput, parseMoneyInput } from '../parts/form-values.ts'
import { t } from '../strings/strings.ts'

interface OwnPriceDialogProps {
  tenantId: string
  currency: string
  /** The package and its current price. Undefined: the person enters a package code. */
  row: PriceRow | undefined
  onClose(): void
}

/** Sets or removes a dealer's own price of a package. */
export function OwnPriceDialog({ tenantId, currency, row, onClose }: OwnPriceDialogProps) {
  const change = useChange({ success: t.prices.saved, quiet: true })
  const [amountError, setAmountError] = useState<string>()
  const pathOf = (packageCode: string) => `/tenants/${tenantId}/own-prices/${encodeURIComponent(packageCode)}`
  return (
    <Dialog
      title={row ? `${t.prices.setOwnPrice}: ${row.packageCode}` : t.prices.setOwnPrice}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={change.isPending}
      error={change.error}
      onSubmit={({ packageCode = row?.packageCode ?? '', price: typed = '' }) => {
        const read = parseMoneyInput(typed)
        setAmountError('error' in read ? read.error : undefined)
        if ('error' in read) return
        const body = { price: read.amount }
        change.mutate({ method: 'PUT', path: pathOf(packageCode), body }, { onSuccess: onClose })
      }}
    >
      {!row && (
        <TextInput
          name="packageCode"
          label={t.prices.package}
          description={t.prices.packageCodeHint}
          required
          maxLength={64}
          data-autofocus
        />
      )}
      <TextInput
        name="price"
        label={`${t.prices.price} (${currency})`}
        inputMode="decimal"
        defaultValue={formatMoneyInput(row?.price)}
        required
        error={amountError}
        {...(row && { 'data-autofocus': true })}
      />
      {row?.source === 'OWN' && (
        <Button
          variant="default"
          onClick={() => change.mutate({ method: 'DELETE', path: pathOf(row.packageCode) }, { onSuccess: onClose })}
        >
          {t.prices.removeOwnPrice}
        </Button>
      )}
    </Dialog>
  )
}
