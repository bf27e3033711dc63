import { LINE_COUNT_MAX } from '@dealer-esim/contract'
import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/place-order.ts'
import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Alert, NumberInput } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { packageTitleText } from '#catalogue/package-title.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { Amount, Facts } from '#parts/values.tsx'
import { interpolate, t } from '#strings/strings.ts'
import { Coverage, dataText, priceText, validityText } from './package-facts.tsx'

interface BuyDialogProps {
  tenantId: string
  transactionId: string
  chosen: BuyablePackage
  onClose(): void
}

/** Asks for the quantity and shows the total, which the button repeats and the gateway checks again. */
export function BuyDialog({ tenantId, transactionId, chosen, onClose }: BuyDialogProps) {
  const { packageCode, name, price, currencyCode, periodNumMin, periodNumMax } = chosen
  const [count, setCount] = useState(1)
  const [days, setDays] = useState(periodNumMin ?? undefined)
  const wallet = useApi<WalletView>(`/tenants/${tenantId}/wallet`)
  // On success everything is read again, and the page shows the order.
  const order = useChange({ quiet: true })
  const amount = price * count * (days ?? 1)
  const available = wallet.data && wallet.data.balance + wallet.data.creditLimit
  return (
    <Dialog
      title={interpolate(t.portal.buy, { name: packageTitleText(name) })}
      opened
      onClose={onClose}
      submit={interpolate(t.portal.buyFor, { price: formatMoney(amount, currencyCode) })}
      busy={order.isPending}
      error={order.error}
      onSubmit={() => {
        const body = { transactionId, packageCode, count, periodNum: days, amount }
        order.mutate({ method: 'POST', path: `/tenants/${tenantId}/orders`, body }, { onSuccess: onClose })
      }}
    >
      <Facts
        cols={2}
        items={[
          [t.portal.coverage, <Coverage key="c" {...chosen} />],
          [t.portal.data, dataText(chosen)],
          [t.portal.validity, validityText(chosen)],
          [t.portal.price, priceText(chosen)],
        ]}
      />
      {chosen.ekycRequired && <Alert color="orange">{t.portal.identityNeeded}</Alert>}
      <NumberInput
        label={t.portal.quantity}
        value={count}
        min={1}
        max={LINE_COUNT_MAX}
        allowDecimal={false}
        clampBehavior="strict"
        onChange={(value) => setCount(Number(value) || 1)}
        data-autofocus
      />
      {days !== undefined && (
        <NumberInput
          label={t.portal.days}
          value={days}
          min={periodNumMin ?? 1}
          max={periodNumMax ?? 1}
          allowDecimal={false}
          onChange={(value) => setDays(Number(value) || (periodNumMin ?? 1))}
        />
      )}
      <Facts
        cols={2}
        items={[
          [t.portal.total, <Amount key="t" value={amount} currency={currencyCode} />],
          [
            t.portal.balanceAfter,
            available === undefined ? (
              t.common.loading
            ) : (
              <Amount key="b" value={available - amount} currency={currencyCode} />
            ),
          ],
        ]}
      />
    </Dialog>
  )
}
