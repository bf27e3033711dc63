import type { CurrencyPaymentSettings } from '@dealer-esim/gateway/http/console/wallet/payments.ts'
import { Alert, Text, TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { parseMoneyInput } from '#parts/form-values.ts'
import { formatMoney } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'

interface WalletDialogProps {
  tenantId: string
  /** Shown in the dialog, which covers the page's heading. */
  clientName: string
  currency: string
  onClose(): void
}

/** 1 000.00. A larger amount is shown again for confirmation, unless the operator has set another amount for two people. */
const LARGE_AMOUNT = 10_000_000

/** Credits a payment. A large amount must be confirmed. */
export function TopUp(wallet: WalletDialogProps) {
  const settings = useApi<{ currencies: CurrencyPaymentSettings[] }>('/payment-settings')
  const ofCurrency = settings.data?.currencies.find(({ currencyCode }) => currencyCode === wallet.currency)
  return (
    <MoneyDialog<{ replayed: boolean }>
      {...wallet}
      title={t.wallet.topUp}
      text={t.wallet.topUpText}
      path="wallet/top-ups"
      success={({ replayed }) => (replayed ? t.wallet.alreadyCredited : t.wallet.toppedUp)}
      amount={{ inputMode: 'decimal' }}
      reference={{ label: t.wallet.paymentReference }}
      reason={{ label: t.wallet.note }}
      checkAbove={ofCurrency?.secondPersonAbove ?? LARGE_AMOUNT}
    />
  )
}

/** Proposes a correction without a payment. No decimal keypad: on phones it has no minus sign. */
export function Adjust(wallet: WalletDialogProps) {
  return (
    <MoneyDialog
      {...wallet}
      title={t.wallet.adjust}
      text={t.wallet.adjustText}
      path="adjustments"
      success={t.wallet.proposed}
      reference={{ label: t.wallet.reference }}
      reason={{ label: t.wallet.reason, required: true }}
    />
  )
}

interface MoneyDialogProps<Answer> extends WalletDialogProps {
  title: string
  text: string
  /** Below the dealer's path. */
  path: string
  /** The success message. */
  success: string | ((answer: Answer) => string)
  /** Properties that differ between the fields. */
  amount?: TextInputProps
  reference: TextInputProps
  reason: TextInputProps
  /** Larger amounts are submitted twice. */
  checkAbove?: number
}

/** Asks for an amount and its purpose. */
function MoneyDialog<Answer>(props: MoneyDialogProps<Answer>) {
  const { tenantId, clientName, currency, onClose, title, path, success } = props
  const change = useChange<Answer>({ success, quiet: true })
  const [amountError, setAmountError] = useState<string>()
  const [checking, setChecking] = useState<number>()
  return (
    <Dialog
      title={`${title}: ${clientName}`}
      opened
      onClose={onClose}
      submit={
        checking === undefined
          ? title
          : formatMessage(t.wallet.creditAmount, { amount: formatMoney(checking, currency) })
      }
      busy={change.isPending}
      error={change.error}
      onSubmit={({ amount = '', reference, reason }) => {
        const read = parseMoneyInput(amount, currency)
        setAmountError('error' in read ? read.error : undefined)
        if ('error' in read) return
        if (read.amount > (props.checkAbove ?? Number.POSITIVE_INFINITY) && read.amount !== checking)
          return setChecking(read.amount)
        const body = { ...read, reference, ...(reason && { reason }) }
        change.mutate({ method: 'POST', path: `/tenants/${tenantId}/${path}`, body }, { onSuccess: onClose })
      }}
    >
      <Text size="sm">{props.text}</Text>
      <TextInput
        name="amount"
        label={`${t.wallet.amount} (${currency})`}
        required
        error={amountError}
        onChange={() => setChecking(undefined)}
        data-autofocus
        {...props.amount}
      />
      <TextInput name="reference" required maxLength={64} {...props.reference} />
      <TextInput name="reason" maxLength={200} {...props.reason} />
      {checking !== undefined && (
        <Alert color="orange" role="alert">
          {formatMessage(t.wallet.largeAmount, { amount: formatMoney(checking, currency) })}
        </Alert>
      )}
    </Dialog>
  )
}
