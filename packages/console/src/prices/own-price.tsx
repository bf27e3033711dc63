import type { PriceRow } from '@dealer-esim/gateway/http/console/prices/tenant-prices.ts'
import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatMoneyInput, parseMoneyInput } from '#parts/form-values.ts'
import { t } from '#strings/page-texts.ts'
import { ExplainedPrice } from './explanation.tsx'
import { PackageSelect } from './rule-dialog.tsx'

interface OwnPriceDialogProps {
  tenantId: string
  currency: string
  /** The package and its current price. Undefined if the person selects a package. */
  row: PriceRow | undefined
  onClose(): void
}

/** Sets or removes a dealer's own price for a package. */
export function OwnPriceDialog({ tenantId, currency, row, onClose }: OwnPriceDialogProps) {
  const change = useChange({ success: t.prices.saved, quiet: true })
  const [chosen, setChosen] = useState<string | null>(null)
  const [isMissing, setIsMissing] = useState(false)
  const [amountError, setAmountError] = useState<string>()
  const pathOf = (packageCode: string) => `/tenants/${tenantId}/own-prices/${encodeURIComponent(packageCode)}`
  return (
    <Dialog
      title={row ? `${t.prices.setOwnPrice}: ${row.packageCode}` : t.prices.setOwnPrice}
      opened
      size="lg"
      onClose={onClose}
      submit={t.common.save}
      busy={change.isPending}
      error={change.error}
      onSubmit={({ price: typed = '' }) => {
        const packageCode = row?.packageCode ?? chosen
        setIsMissing(packageCode === null)
        const read = parseMoneyInput(typed)
        setAmountError('error' in read ? read.error : undefined)
        if ('error' in read || packageCode === null) return
        const body = { price: read.amount }
        change.mutate({ method: 'PUT', path: pathOf(packageCode), body }, { onSuccess: onClose })
      }}
    >
      {!row && (
        <PackageSelect value={chosen} onChange={setChosen} error={isMissing ? t.prices.targetMissing : undefined} />
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
      {row && <ExplainedPrice packageCode={row.packageCode} tenantId={tenantId} />}
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
