import type { MonthSummary, WalletEntry } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Anchor, Button, NativeSelect, SimpleGrid, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { apiUrl } from '#api/call-api.ts'
import { type ServerList, useList } from '#lists/use-list.ts'
import { orderNumber } from '#orders/order-number.tsx'
import { figureColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount, Hint } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

const REFRESH_MS = 15_000

/** The entries of a dealer's wallet, with the wallet's state at the same moment. */
export function useWalletEntries(tenantId: string): ServerList<WalletEntry> {
  const [{ month, kind }] = useFilters()
  const path = `/tenants/${tenantId}/wallet/entries`
  return useList(path, 'entries', { month, kind }, { isFileOrderFixed: true, refreshMs: REFRESH_MS })
}

interface WalletStatementProps {
  list: ServerList<WalletEntry>
  tenantId: string
  currency: string
  createdAt: string
}

/** The entries of a dealer's wallet, newest first. A month has totals and a statement to print. */
export function WalletStatement({ list, tenantId, currency, createdAt }: WalletStatementProps) {
  const me = useSession()
  const [{ month, kind }, setFilters] = useFilters()
  const summary = list.answer?.month as MonthSummary | null | undefined
  return (
    <Card
      title={t.wallet.statement}
      actions={
        <>
          <NativeSelect
            aria-label={t.wallet.type}
            size="xs"
            value={kind ?? ''}
            onChange={(event) => setFilters({ kind: event.currentTarget.value })}
            data={[
              { value: '', label: t.wallet.allTypes },
              ...Object.entries(t.wallet.types).map(([value, label]) => ({ value, label })),
            ]}
          />
          <NativeSelect
            aria-label={t.wallet.month}
            size="xs"
            value={month ?? ''}
            onChange={(event) => setFilters({ month: event.currentTarget.value })}
            data={[{ value: '', label: t.wallet.allMonths }, ...monthsSince(createdAt)]}
          />
          {month && summary?.isPrintable && (
            <Button
              component="a"
              href={apiUrl(`/tenants/${tenantId}/wallet/statement`, { month }).href}
              target="_blank"
              rel="noopener"
              size="xs"
              variant="default"
            >
              {t.wallet.openStatement}
            </Button>
          )}
        </>
      }
    >
      {summary && <MonthTotals summary={summary} currency={currency} />}
      <List<WalletEntry>
        label={t.wallet.statement}
        name="wallet"
        list={list}
        idOf={(row) => String(row.walletVersion)}
        empty={emptyText(month, kind, { isForOperator: isOperator(me) })}
        columns={[
          timeColumn('createdAt', t.common.time, { phone: 'status' }),
          { accessor: 'kind', title: t.wallet.type, phone: 'main', render: (row) => t.wallet.types[row.kind] },
          valueColumn('what', t.wallet.description, (row) => <EntryReference entry={row} tenantId={tenantId} />, {
            phone: 'note',
          }),
          { accessor: 'actor', title: t.wallet.by },
          figureColumn('amount', t.wallet.amount, (row) => <Amount value={row.amount} currency={currency} signed />, {
            phone: 'value',
            currency: () => currency,
          }),
          {
            accessor: 'balanceAfter',
            title: t.wallet.balanceAfter,
            textAlign: 'right',
            currency: () => currency,
            render: (row) => <Amount value={row.balanceAfter} currency={currency} />,
          },
        ]}
      />
    </Card>
  )
}

const MONTHS_SHOWN = 24

/** Newest first, back to the month in which the wallet was created. */
function monthsSince(createdAt: string): string[] {
  const now = new Date()
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  ).filter((month, back) => back === 0 || month >= createdAt.slice(0, 7))
}

function emptyText(
  month: string | undefined,
  kind: string | undefined,
  { isForOperator }: { isForOperator: boolean },
): { title: string; text?: string } {
  if (kind) return { title: t.wallet.noneOfType, text: t.wallet.noneOfTypeText }
  if (month) return { title: t.wallet.noEntriesInMonth }
  return { title: t.wallet.noEntries, text: isForOperator ? t.wallet.noEntriesText : t.wallet.noEntriesDealer }
}

function EntryReference({ entry, tenantId }: { entry: WalletEntry; tenantId: string }) {
  if (entry.orderNo === null) return <>{[entry.reference, entry.reason].filter(Boolean).join(' · ')}</>
  return (
    <Anchor component={Link} to={`/tenants/${tenantId}/orders/${entry.orderNo}`} search={{} as never} size="sm">
      {orderNumber({ entryNo: entry.orderEntryNo ?? entry.walletVersion })}
      {entry.itemNo !== null && ` · ${formatMessage(t.orders.esimNumber, { item: entry.itemNo })}`}
    </Anchor>
  )
}

function MonthTotals({ summary, currency }: { summary: MonthSummary; currency: string }) {
  return (
    <Stack gap={4}>
      <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }} spacing="xs">
        <Total label={t.wallet.opening} value={summary.opening} currency={currency} />
        {summary.totals.map((total) => (
          <Total
            key={total.kind}
            label={`${t.wallet.types[total.kind as keyof typeof t.wallet.types]} (${total.count})`}
            value={total.amount}
            currency={currency}
          />
        ))}
        <Total label={t.wallet.closing} value={summary.closing} currency={currency} />
      </SimpleGrid>
      {!summary.isPrintable && (
        <Hint size="xs">{summary.complete ? t.wallet.noStatementYet : t.wallet.monthNotOver}</Hint>
      )}
    </Stack>
  )
}

function Total({ label, value, currency }: { label: string; value: number; currency: string }) {
  return (
    <div>
      <Hint size="xs">{label}</Hint>
      <Text size="sm" fw={600}>
        <Amount value={value} currency={currency} />
      </Text>
    </div>
  )
}
