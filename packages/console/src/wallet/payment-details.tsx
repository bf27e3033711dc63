import type { PaymentDetails } from '@dealer-esim/gateway/http/console/wallet/payments.ts'
import { Anchor, Text } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { Card } from '#parts/page.tsx'
import { CopyIcon, Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

/** How a dealer pays: the operator's bank details and payment page. */
export function HowToPay({ tenantId }: { tenantId: string }) {
  const { data } = useApi<PaymentDetails>(`/tenants/${tenantId}/payment-details`)
  if (!data) return null
  const { bankDetails, paymentUrl } = data
  return (
    <Card
      title={t.topUpRequests.howToPay}
      actions={bankDetails && <CopyIcon value={bankDetails} label={t.topUpRequests.bankDetails} />}
    >
      {bankDetails && (
        <Text size="sm" className="lines">
          {bankDetails}
        </Text>
      )}
      {paymentUrl && (
        <Anchor href={paymentUrl} target="_blank" rel="noopener noreferrer" size="sm">
          {t.topUpRequests.paymentLink}
        </Anchor>
      )}
      {!bankDetails && !paymentUrl && <Hint>{t.topUpRequests.noDetails}</Hint>}
    </Card>
  )
}
