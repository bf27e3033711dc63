import type { Setup } from '@dealer-esim/gateway/http/console/home/guided-start.ts'
import { Alert, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { sendCall, signCall } from '#tenants/explorer/signed-call.ts'

interface TestOrderProps {
  dealer: NonNullable<Setup['dealer']>
  packageCode: string
  onClose(): void
}

/** Orders one sandbox eSIM as the dealer would, signed in the browser, and opens the order to watch its delivery. */
export function TestOrder({ dealer, packageCode, onClose }: TestOrderProps) {
  const navigate = useNavigate()
  const view = useChange<{ appSecret: string }>({ quiet: true })
  const [isSending, setIsSending] = useState(false)
  const [error, setError] = useState<Error>()
  async function order(appSecret: string) {
    setIsSending(true)
    try {
      const orderNo = await placeOrder(dealer.appKey, appSecret, packageCode)
      await navigate({ to: `/tenants/${dealer.tenantId}/orders/${orderNo}` })
    } catch (failure) {
      setError(failure as Error)
      setIsSending(false)
    }
  }
  return (
    <Dialog
      title={t.setup.testOrder}
      opened
      onClose={onClose}
      submit={t.setup.placeTestOrder}
      busy={view.isPending || isSending}
      error={view.error ?? error ?? null}
      onSubmit={(body) => {
        setError(undefined)
        view.mutate(
          { method: 'POST', path: `/tenants/${dealer.tenantId}/secret/view`, body },
          { onSuccess: ({ appSecret }) => void order(appSecret) },
        )
      }}
    >
      <Text size="sm">{formatMessage(t.setup.testOrderText, { package: packageCode, dealer: dealer.clientName })}</Text>
      <Alert color="blue">{t.setup.testOrderSecret}</Alert>
      <ReauthenticationFields />
    </Dialog>
  )
}

/** Returns the order number. The dealer API's message says why it refused the order. */
async function placeOrder(appKey: string, appSecret: string, packageCode: string): Promise<string> {
  const body = { transactionId: `test-${crypto.randomUUID()}`, packageInfoList: [{ packageCode, count: 1 }] }
  const { text } = await sendCall(await signCall(appKey, appSecret, 'esim/order', JSON.stringify(body)))
  const { code, message, data } = JSON.parse(text) as { code: string; message: string; data?: { orderNo?: string } }
  if (data?.orderNo === undefined) throw new Error(`${code}: ${message}`)
  return data.orderNo
}
