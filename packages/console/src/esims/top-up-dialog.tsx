import type { TopUpPackage } from '@dealer-esim/gateway/http/console/esims/esim-top-ups.ts'
import { Button, NativeSelect, NumberInput, Text } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** Tops up an eSIM with a package that fits it. The submit button states the price, which the gateway checks again. */
export function TopUp({ path, iccid }: { path: string; iccid: string }) {
  // One key per opening of the dialog: a second click does not debit again.
  const [transactionId, setTransactionId] = useState<string>()
  return (
    <>
      <Button variant="default" onClick={() => setTransactionId(`console-${crypto.randomUUID()}`)}>
        {t.esims.topUp}
      </Button>
      {transactionId !== undefined && (
        <TopUpDialog
          path={path}
          iccid={iccid}
          transactionId={transactionId}
          close={() => setTransactionId(undefined)}
        />
      )}
    </>
  )
}

interface TopUpDialogProps {
  path: string
  iccid: string
  transactionId: string
  close(): void
}

function TopUpDialog({ path, iccid, transactionId, close }: TopUpDialogProps) {
  const list = useApi<{ packages: TopUpPackage[] }>(`${path}/top-up-packages`)
  const [packageCode, setPackageCode] = useState<string>()
  const [days, setDays] = useState<number>()
  const order = useChange({ quiet: true, success: t.esims.topUpOrdered })
  const packages = list.data?.packages ?? []
  const chosen = packages.find((each) => each.packageCode === packageCode) ?? packages[0]
  const periodNum = chosen === undefined || chosen.periodNumMin === null ? undefined : (days ?? chosen.periodNumMin)
  const amount = chosen === undefined ? 0 : chosen.price * (periodNum ?? 1)
  const submit = chosen === undefined ? t.esims.topUp : priceLabel(amount, chosen.currencyCode)
  return (
    <Dialog
      title={formatMessage(t.esims.topUpTitle, { iccid })}
      opened
      onClose={close}
      submit={submit}
      busy={order.isPending}
      error={order.error ?? list.error}
      onSubmit={() => {
        if (chosen === undefined) return
        const body = { packageCode: chosen.packageCode, transactionId, amount, periodNum }
        order.mutate({ method: 'POST', path: `${path}/top-ups`, body }, { onSuccess: close })
      }}
    >
      <Text size="sm">{list.data && chosen === undefined ? t.esims.topUpNone : t.esims.topUpText}</Text>
      {chosen !== undefined && (
        <NativeSelect
          label={t.esims.topUpPackage}
          value={chosen.packageCode}
          data={packages.map(({ packageCode: value, name }) => ({ value, label: `${name} (${value})` }))}
          onChange={({ currentTarget }) => {
            setPackageCode(currentTarget.value)
            setDays(undefined)
          }}
        />
      )}
      {chosen !== undefined && periodNum !== undefined && (
        <NumberInput
          label={t.esims.topUpDays}
          value={periodNum}
          min={chosen.periodNumMin ?? 1}
          max={chosen.periodNumMax ?? 1}
          allowDecimal={false}
          onChange={(value) => setDays(Number(value) || undefined)}
        />
      )}
    </Dialog>
  )
}

function priceLabel(amount: number, currencyCode: string): string {
  return formatMessage(t.esims.topUpFor, { price: formatMoney(amount, currencyCode) })
}
