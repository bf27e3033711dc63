import type { MonthSummary, WalletEntry, WalletView } from '@dealer-esim/gateway/console-api/wallet.ts'
import { Anchor, Button, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { apiUrl } from '../api.ts'
import { Amount } from '../parts/amount.tsx'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { List } from '../parts/list.tsx'
import { told } from '../parts/tell.ts'
import { When } from '../parts/when.tsx'
import { isOperator, operates, useSession } from '../session.tsx'
import { say, t } from '../strings/index.ts'
import { readMoney } from '../typed-money.ts'
import { useApi, useChange } from '../use-api.ts'
import { useFilters } from '../use-filters.ts'
import { Adjustments } from './adjustments.tsx'
import { useTenant } from './tenant.tsx'
import { TenantSection } from './tenant-section.tsx'

export function WalletPage() {
  const me = useSession()
  const { tenantId, data: tenant } = useTenant()
  const wallet = useApi<WalletView>(`/tenants/${tenantId}/wallet`)
  const [open, setOpen] = useState<'top-up' | 'adjust'>()
  if (!tenant || !wallet.data) return null
  const { currencyCode: currency, balance, creditLimit } = wallet.data
  const actions = operates(me) && (
    <>
      <Button onClick={() => setOpen('top-up')}>{t.wallet.topUp}</Button>
      <Button variant="default" onClick={() => setOpen('adjust')}>
        {t.wallet.adjust}
      </Button>
    </>
  )
  return (
    <TenantSection title={t.wallet.title}>
      {actions && <Group justify="flex-end">{actions}</Group>}
      <Card>
        <Text size="sm" c="dimmed">
          {t.wallet.balance}
        </Text>
        <Text fz="2rem" fw={650} lh={1.1} data-balance={balance}>
          <Amount of={balance} currency={currency} />
        </Text>
        <Facts
          of={[
            [t.wallet.available, <Amount key="a" of={balance + creditLimit} currency={currency} />],
            [t.wallet.creditLimit, <Amount key="c" of={creditLimit} currency={currency} />],
            [t.wallet.spentToday, <Amount key="s" of={wallet.data.spentToday} currency={currency} />],
            [t.wallet.dailyLimit, <Amount key="d" of={wallet.data.dailySpendLimit} currency={currency} />],
            [t.wallet.threshold, <Amount key="t" of={wallet.data.lowBalanceThreshold} currency={currency} />],
          ]}
        />
      </Card>
      {isOperator(me) && <Adjustments tenantId={tenantId} />}
      <Statement tenantId={tenantId} currency={currency} createdAt={tenant.createdAt} />
      {open === 'top-up' && <TopUp tenantId={tenantId} currency={currency} onClose={() => setOpen(undefined)} />}
      {open === 'adjust' && <Adjust tenantId={tenantId} currency={currency} onClose={() => setOpen(undefined)} />}
    </TenantSection>
  )
}

const MONTHS_SHOWN = 24

/** Newest first, back to the one in which the wallet was made. */
function monthsSince(createdAt: string): string[] {
  const now = new Date()
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  ).filter((month, back) => back === 0 || month >= createdAt.slice(0, 7))
}

function Statement(props: { tenantId: string; currency: string; createdAt: string }) {
  const { tenantId, currency, createdAt } = props
  const [{ month, kind, cursor }, setFilters] = useFilters()
  const path = `/tenants/${tenantId}/wallet/entries`
  const list = useApi<{ entries: WalletEntry[]; month: MonthSummary | null; nextCursor: string | null }>(path, {
    month,
    kind,
    cursor,
  })
  const summary = list.data?.month
  return (
    <Card
      title={t.wallet.statement}
      actions={
        <>
          <NativeSelect
            aria-label={t.wallet.kind}
            size="xs"
            value={kind ?? ''}
            onChange={(event) => setFilters({ kind: event.currentTarget.value })}
            data={[
              { value: '', label: t.wallet.allKinds },
              ...Object.entries(t.wallet.kinds).map(([value, label]) => ({ value, label })),
            ]}
          />
          <NativeSelect
            aria-label={t.wallet.csvMonth}
            size="xs"
            value={month ?? ''}
            onChange={(event) => setFilters({ month: event.currentTarget.value })}
            data={[{ value: '', label: t.wallet.allMonths }, ...monthsSince(createdAt)]}
          />
          {month && (
            <Button
              component="a"
              href={apiUrl(`${path}.csv`, { month, kind }).href}
              download
              size="xs"
              variant="default"
            >
              {t.common.export}
            </Button>
          )}
        </>
      }
    >
      {summary && <Month summary={summary} currency={currency} />}
      <List<WalletEntry>
        label={t.wallet.statement}
        rows={list.data?.entries}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => String(row.walletVersion)}
        empty={emptyOf(month, kind)}
        columns={[
          { accessor: 'createdAt', title: t.common.time, render: (row) => <When at={row.createdAt} /> },
          { accessor: 'kind', title: t.wallet.kind, render: (row) => t.wallet.kinds[row.kind] },
          { accessor: 'what', title: t.wallet.what, render: (row) => <What entry={row} tenantId={tenantId} /> },
          { accessor: 'actor', title: t.wallet.by },
          {
            accessor: 'amount',
            title: t.wallet.amount,
            textAlign: 'right',
            render: (row) => <Amount of={row.amount} currency={currency} signed />,
          },
          {
            accessor: 'balanceAfter',
            title: t.wallet.after,
            textAlign: 'right',
            render: (row) => <Amount of={row.balanceAfter} currency={currency} />,
          },
        ]}
      />
    </Card>
  )
}

function emptyOf(month: string | undefined, kind: string | undefined) {
  if (kind) return { title: t.wallet.noneOfKind, text: t.wallet.noneOfKindText }
  return month ? { title: t.wallet.emptyMonth } : { title: t.wallet.empty, text: t.wallet.emptyText }
}

function What({ entry, tenantId }: { entry: WalletEntry; tenantId: string }) {
  if (entry.orderNo === null) return <>{[entry.reference, entry.reason].filter(Boolean).join(' · ')}</>
  return (
    <Anchor component={Link} to={`/tenants/${tenantId}/orders/${entry.orderNo}`} search={{} as never} size="sm">
      {entry.transactionId ?? entry.orderNo}
      {entry.itemNo !== null && ` · ${say(t.orders.ofItem, { item: entry.itemNo })}`}
    </Anchor>
  )
}

function Month({ summary, currency }: { summary: MonthSummary; currency: string }) {
  return (
    <Stack gap={4}>
      <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }} spacing="xs">
        <Sum label={t.wallet.opening} of={summary.opening} currency={currency} />
        {summary.totals.map((total) => (
          <Sum
            key={total.kind}
            label={`${t.wallet.kinds[total.kind as keyof typeof t.wallet.kinds]} (${total.count})`}
            of={total.amount}
            currency={currency}
          />
        ))}
        <Sum label={t.wallet.closing} of={summary.closing} currency={currency} />
      </SimpleGrid>
      {!summary.complete && (
        <Text size="xs" c="dimmed">
          {t.wallet.running}
        </Text>
      )}
    </Stack>
  )
}

function Sum({ label, of, currency }: { label: string; of: number; currency: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" fw={600}>
        <Amount of={of} currency={currency} />
      </Text>
    </div>
  )
}

interface MoneyDialogProps {
  tenantId: string
  currency: string
  onClose(): void
}

function TopUp({ tenantId, currency, onClose }: MoneyDialogProps) {
  const topUp = useChange<{ replayed: boolean }>({ quiet: true })
  const [fault, setFault] = useState<string>()
  return (
    <Dialog
      title={t.wallet.topUp}
      opened
      onClose={onClose}
      submit={t.wallet.topUp}
      busy={topUp.isPending}
      error={topUp.error}
      onSubmit={({ amount = '', reference, reason }) => {
        const read = readMoney(amount)
        setFault('fault' in read ? read.fault : undefined)
        if ('fault' in read) return
        const body = { ...read, reference, ...(reason && { reason }) }
        topUp.mutate(
          { method: 'POST', path: `/tenants/${tenantId}/wallet/top-ups`, body },
          {
            onSuccess({ replayed }) {
              told(replayed ? t.wallet.replayed : t.wallet.toppedUp)
              onClose()
            },
          },
        )
      }}
    >
      <Text size="sm">{t.wallet.topUpText}</Text>
      <TextInput
        name="amount"
        label={`${t.wallet.amount} (${currency})`}
        inputMode="decimal"
        required
        error={fault}
        data-autofocus
      />
      <TextInput name="reference" label={t.wallet.reference} required maxLength={64} />
      <TextInput name="reason" label={t.wallet.note} maxLength={200} />
    </Dialog>
  )
}

function Adjust({ tenantId, currency, onClose }: MoneyDialogProps) {
  const propose = useChange({ done: t.wallet.proposed, quiet: true })
  const [fault, setFault] = useState<string>()
  return (
    <Dialog
      title={t.wallet.adjust}
      opened
      onClose={onClose}
      submit={t.wallet.adjust}
      busy={propose.isPending}
      error={propose.error}
      onSubmit={({ amount = '', reference, reason }) => {
        const read = readMoney(amount)
        setFault('fault' in read ? read.fault : undefined)
        if ('fault' in read) return
        const body = { ...read, reference, reason }
        propose.mutate({ method: 'POST', path: `/tenants/${tenantId}/adjustments`, body }, { onSuccess: onClose })
      }}
    >
      <Text size="sm">{t.wallet.adjustText}</Text>
      <TextInput name="amount" label={`${t.wallet.amount} (${currency})`} required error={fault} data-autofocus />
      <TextInput name="reference" label={t.wallet.adjustReference} required maxLength={64} />
      <TextInput name="reason" label={t.wallet.reason} required maxLength={200} />
    </Dialog>
  )
}
