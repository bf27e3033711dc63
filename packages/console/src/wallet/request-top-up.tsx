import { Button, FileInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { parseMoneyInput } from '#parts/form-values.ts'
import { t } from '#strings/strings.ts'

/** The gateway's limit, checked here before a long upload. */
const RECEIPT_SIZE_MAX_BYTES = 4 * 1024 * 1024

/** Reports a payment to the operator. Repeating it with the same reference and amount creates only one request. */
export function RequestTopUp({ tenantId, currency }: { tenantId: string; currency: string }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t.topUpRequests.request}</Button>
      {isOpen && <RequestDialog tenantId={tenantId} currency={currency} onClose={() => setIsOpen(false)} />}
    </>
  )
}

function RequestDialog({ tenantId, currency, onClose }: { tenantId: string; currency: string; onClose(): void }) {
  const [file, setFile] = useState<File | null>(null)
  const [errors, setErrors] = useState<{ amount?: string; receipt?: string }>({})
  const ask = useChange({ quiet: true, success: t.topUpRequests.requested })
  function submit({ amount: typed = '', reference }: Record<string, string>) {
    const read = parseMoneyInput(typed, currency)
    const isTooLarge = file !== null && file.size > RECEIPT_SIZE_MAX_BYTES
    setErrors({
      ...('error' in read && { amount: read.error }),
      ...(isTooLarge && { receipt: t.topUpRequests.receiptTooLarge }),
    })
    if ('error' in read || isTooLarge) return
    const path = `/tenants/${tenantId}/top-up-requests`
    const payment = { ...read, reference }
    const change = file
      ? { path: `${path}/with-receipt`, query: { ...payment, fileName: file.name }, file }
      : { path, body: payment }
    ask.mutate({ method: 'POST', ...change }, { onSuccess: onClose })
  }
  return (
    <Dialog
      title={t.topUpRequests.request}
      opened
      onClose={onClose}
      submit={t.topUpRequests.request}
      busy={ask.isPending}
      error={ask.error}
      onSubmit={submit}
    >
      <Text size="sm">{t.topUpRequests.requestText}</Text>
      <TextInput
        name="amount"
        label={`${t.wallet.amount} (${currency})`}
        inputMode="decimal"
        required
        error={errors.amount}
        data-autofocus
      />
      <TextInput name="reference" label={t.topUpRequests.paymentReference} required maxLength={64} />
      <FileInput
        label={t.topUpRequests.receipt}
        description={t.topUpRequests.receiptHint}
        accept="application/pdf,image/png,image/jpeg"
        value={file}
        onChange={setFile}
        clearable
        clearButtonProps={{ 'aria-label': t.common.clear }}
        error={errors.receipt}
      />
    </Dialog>
  )
}
