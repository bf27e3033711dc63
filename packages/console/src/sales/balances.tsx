import type { DealerBalanceRow } from '@dealer-esim/gateway/http/console/sales.ts'
import { Anchor, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { figureColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'

/** How many days each dealer's balance lasts, the shortest first. */
export function Balances() {
  const list = useApi<{ balances: DealerBalanceRow[] }>('/sales/balances')
  const wallet = (row: DealerBalanceRow, value: number) => (
    <Anchor component={Link} to={`/tenants/${row.tenantId}/wallet`} search={{} as never} size="sm" c="inherit">
      <Amount value={value} currency={row.currencyCode} />
    </Anchor>
  )
  return (
    <>
      <Text size="sm" c="dimmed" maw={720}>
        {t.sales.balancesText}
      </Text>
      <List<DealerBalanceRow>
        label={t.sales.balances}
        csv={{ path: '/sales/balances' }}
        name="balances"
        rows={list.data?.balances}
        query={list}
        idOf={(row) => row.tenantId}
        to={(row) => `/tenants/${row.tenantId}`}
        empty={{ title: t.dealers.none, text: t.dealers.noneText }}
        columns={[
          { accessor: 'clientName', title: t.common.dealer, cellsClassName: 'name' },
          {
            accessor: 'daysLeft',
            title: t.sales.daysLeft,
            textAlign: 'right',
            render: (row) =>
              row.daysLeft === null ? t.sales.nothingSpent : formatMessage(t.sales.days, { count: row.daysLeft }),
          },
          figureColumn('balance', t.dealers.balance, (row) => wallet(row, row.balance)),
          figureColumn('creditLimit', t.settings.creditLimit, (row) => wallet(row, row.creditLimit)),
          {
            accessor: 'spent',
            title: t.sales.spent,
            textAlign: 'right',
            render: (row) =>
              row.basis === 0 ? (
                '–'
              ) : (
                <span>
                  <Amount value={row.spent} currency={row.currencyCode} />{' '}
                  <Text span size="xs" c="dimmed">
                    {formatMessage(t.sales.inDays, { count: row.basis })}
                  </Text>
                </span>
              ),
          },
        ]}
      />
    </>
  )
}
