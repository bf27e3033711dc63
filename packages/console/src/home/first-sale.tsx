import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '#api/use-api.ts'
import { formatMoney } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { TextLink } from '#parts/values.tsx'
import { canEdit, useSession, usesApi } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import OperatorCard, { useOperator } from '#tenants/operator-contact.tsx'
import { PaymentLines } from '#wallet/payment-details.tsx'
import { RequestTopUp } from '#wallet/request-top-up.tsx'

const REFRESH_MS = 15_000

/** The home page of a dealer that has sold nothing yet: what the wallet is, how to pay, buy, hand over. */
export default function FirstSale({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const operator = useOperator()
  const { data: wallet } = useApi<WalletView>(`/tenants/${tenantId}/wallet`, {}, { refreshMs: REFRESH_MS })
  if (!operator || !wallet) return null
  const { balance, creditLimit, currencyCode } = wallet
  const available = balance + creditLimit
  const texts = t.dashboard.firstSale
  const parts = { name: operator.name, amount: formatMoney(available, currencyCode) }
  const isEmpty = available <= 0
  return (
    <>
      <Card title={texts.title}>
        <ol className="first-sale">
          <Step
            name={texts.wallet}
            text={`${formatMessage(texts.walletText, parts)} ${formatMessage(isEmpty ? texts.walletEmpty : texts.walletFull, parts)}`}
            action={isEmpty && canEdit(me) && <RequestTopUp tenantId={tenantId} currency={currencyCode} />}
          >
            {isEmpty && <PaymentLines tenantId={tenantId} />}
          </Step>
          <Step
            name={texts.buy}
            text={texts.buyText}
            action={
              canEdit(me) && (
                <Button component={Link} to="/buy" search={{} as never} {...(isEmpty && { variant: 'default' })}>
                  {t.portal.title}
                </Button>
              )
            }
          />
          <Step name={texts.handOver} text={texts.handOverText} />
        </ol>
        {usesApi(me) && (
          <div>
            {texts.developers} <TextLink to={`/tenants/${tenantId}/credentials`}>{t.credentials.title}</TextLink>
          </div>
        )}
      </Card>
      {!isEmpty && <OperatorCard />}
    </>
  )
}

function Step(props: { name: string; text: string; action?: ReactNode; children?: ReactNode }) {
  const { name, text, action, children } = props
  return (
    <li>
      <div className="first-sale-text">
        <b>{name}</b>
        <p>{text}</p>
        {children}
      </div>
      {action}
    </li>
  )
}
