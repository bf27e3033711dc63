import type { PaymentDetails } from '@dealer-esim/gateway/http/console/wallet/payments.ts'
import { Anchor, Group, Text } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { Card } from '#parts/page.tsx'
import { CopyIcon, Hint } from '#parts/values.tsx'
import { canEdit, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { AskOperator, ContactLines, useOperator } from '#tenants/operator-contact.tsx'

/** How a dealer pays: the operator's bank details and payment page, and whom to ask. */
export function HowToPay({ tenantId }: { tenantId: string }) {
  const details = usePaymentDetails(tenantId)
  if (!details) return null
  return (
    <Card title={t.topUpRequests.howToPay} actions={<CopyDetails {...details} />}>
      <PaymentLines tenantId={tenantId} />
    </Card>
  )
}

function usePaymentDetails(tenantId: string): PaymentDetails | undefined {
  return useApi<PaymentDetails>(`/tenants/${tenantId}/payment-details`).data
}

function CopyDetails({ bankDetails }: Pick<PaymentDetails, 'bankDetails'>) {
  return bankDetails && <CopyIcon value={bankDetails} label={t.topUpRequests.bankDetails} />
}

/** The same without a card of its own. */
export function PaymentLines({ tenantId }: { tenantId: string }) {
  const details = usePaymentDetails(tenantId)
  if (!details) return null
  const { bankDetails, paymentUrl } = details
  return (
    <>
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
      {!bankDetails && !paymentUrl && <NoDetails tenantId={tenantId} />}
      <ContactLines />
    </>
  )
}

/** Says whom to ask, and asks. */
function NoDetails({ tenantId }: { tenantId: string }) {
  const operator = useOperator()
  const me = useSession()
  if (!operator) return null
  return (
    <>
      <Hint>{formatMessage(t.topUpRequests.noDetails, { name: operator.name })}</Hint>
      {canEdit(me) && (
        <Group>
          <AskOperator path={`/tenants/${tenantId}/questions`} text={t.topUpRequests.howToPayQuestion} isQuiet />
        </Group>
      )}
    </>
  )
}
