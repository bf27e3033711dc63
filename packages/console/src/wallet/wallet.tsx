import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Button, Group, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { LoadError } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Amount, Facts, Hint } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'
import { Adjustments } from './adjustments.tsx'
import { Adjust, TopUp } from './money-dialog.tsx'
import { HowToPay } from './payment-details.tsx'
import { RequestTopUp } from './request-top-up.tsx'
import { useWalletEntries, WalletStatement } from './statement.tsx'

/** A dealer's balance, limits and statement, and the actions of operators. */
export function WalletPage() {
  const me = useSession()
  const { tenantId, data: tenant } = useTenant()
  const list = useWalletEntries(tenantId)
  // The wallet is part of the entries' answer, so that they end in its balance.
  const wallet = list.answer?.wallet as WalletView | undefined
  const [open, setOpen] = useState<'top-up' | 'adjust'>()
  if (list.error && !wallet) return <LoadError error={list.error} retry={list.retry} />
  if (!tenant || !wallet) return null
  const { currencyCode: currency, balance, creditLimit } = wallet
  const ofWallet = { tenantId, clientName: tenant.clientName, currency, onClose: () => setOpen(undefined) }
  const actions = canOperate(me) && (
    <>
      <Button onClick={() => setOpen('top-up')}>{t.wallet.topUp}</Button>
      <Button variant="default" onClick={() => setOpen('adjust')}>
        {t.wallet.adjust}
      </Button>
    </>
  )
  const limits = [
    [t.wallet.dailyLimit, wallet.dailySpendLimit] as const,
    [t.wallet.threshold, wallet.lowBalanceThreshold] as const,
  ].filter(([, value]) => value !== null)
  // A test twin is not paid for.
  const isPaid = me.tenant !== null && !isTestMode
  const ask = isPaid && <RequestTopUp tenantId={tenantId} currency={currency} />
  return (
    <DealerSection title={t.wallet.title} actions={ask}>
      {actions && <Group justify="flex-end">{actions}</Group>}
      <Card>
        <Hint>{t.wallet.balance}</Hint>
        <Text fz="2rem" fw={650} lh={1.1} data-balance={balance}>
          <Amount value={balance} currency={currency} />
        </Text>
        <Facts
          items={[
            [t.wallet.available, <Amount key="a" value={balance + creditLimit} currency={currency} />],
            [t.wallet.creditLimit, <Amount key="c" value={creditLimit} currency={currency} />],
            [t.wallet.spentToday, <Amount key="s" value={wallet.spentToday} currency={currency} />],
            ...limits.map(([name, value]): [string, ReactNode] => [
              name,
              <Amount key={name} value={value} currency={currency} />,
            ]),
          ]}
        />
      </Card>
      {isPaid && <HowToPay tenantId={tenantId} />}
      {isOperator(me) && <Adjustments tenantId={tenantId} />}
      <WalletStatement list={list} tenantId={tenantId} currency={currency} createdAt={tenant.createdAt} />
      {open === 'top-up' && <TopUp {...ofWallet} />}
      {open === 'adjust' && <Adjust {...ofWallet} />}
    </DealerSection>
  )
}
