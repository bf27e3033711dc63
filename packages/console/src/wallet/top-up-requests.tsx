import type { TopUpRequestRow } from '@dealer-esim/gateway/http/console/wallet/top-up-requests.ts'
import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Anchor, Text } from '@mantine/core'
import { apiUrl } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import type { ListView } from '#lists/list-views.tsx'
import { useList } from '#lists/use-list.ts'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { moneyColumn, timeColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Hint, Status } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { apiPath, DecideRequest } from './decide-request.tsx'
import { HowToPay } from './payment-details.tsx'
import { RequestTopUp } from './request-top-up.tsx'

/** Requests may be decided while the other side is looking at the list. */
const REFRESH_MS = 15_000
const VIEWS: ListView[] = (['REQUESTED', 'PAID', 'DECLINED'] as const).map((status) => ({
  label: t.statuses[status],
  search: { status },
}))

/** The payments that dealers report: of all dealers for operators, its own for a dealer. */
export function TopUpRequestsPage() {
  const me = useSession()
  const [{ status, tenantId }] = useFilters()
  const isForOperator = isOperator(me)
  const list = useList<TopUpRequestRow>('/top-up-requests', 'requests', { status, tenantId }, { refreshMs: REFRESH_MS })
  return (
    <Page
      title={t.topUpRequests.title}
      description={isForOperator ? t.topUpRequests.operatorText : t.topUpRequests.dealerText}
      actions={me.tenant && <OwnRequest tenantId={me.tenant.tenantId} />}
    >
      {me.tenant && <HowToPay tenantId={me.tenant.tenantId} />}
      <List<TopUpRequestRow>
        label={t.topUpRequests.title}
        list={list}
        name="top-up-requests"
        filters={useDealerFilter()}
        views={VIEWS}
        idOf={(row) => row.requestId}
        empty={{
          title: t.topUpRequests.none,
          text: isForOperator ? t.topUpRequests.noneOperator : t.topUpRequests.noneDealer,
        }}
        columns={[
          timeColumn('createdAt', t.common.time),
          { accessor: 'clientName', title: t.common.dealer, hidden: !isForOperator },
          moneyColumn('amount', t.wallet.amount),
          { accessor: 'reference', title: t.topUpRequests.paymentReference },
          { accessor: 'requestedBy', title: t.topUpRequests.requestedBy },
          { accessor: 'hasReceipt', title: t.topUpRequests.receipt, render: (row) => <Receipt row={row} /> },
          { accessor: 'status', title: t.common.status, render: (row) => <Status status={row.status} /> },
          timeColumn('decidedAt', t.topUpRequests.decided),
          {
            accessor: 'outcome',
            title: t.topUpRequests.outcome,
            width: 230,
            wraps: true,
            render: (row) => <Outcome row={row} />,
          },
        ]}
      />
    </Page>
  )
}

function OwnRequest({ tenantId }: { tenantId: string }) {
  const { data } = useApi<WalletView>(`/tenants/${tenantId}/wallet`)
  return data ? <RequestTopUp tenantId={tenantId} currency={data.currencyCode} /> : null
}

function Receipt({ row }: { row: TopUpRequestRow }) {
  if (!row.hasReceipt) return <>–</>
  return (
    <Anchor href={apiUrl(`${apiPath(row)}/receipt`).href} download size="sm">
      {t.topUpRequests.downloadReceipt}
    </Anchor>
  )
}

/** Shows what was decided and by whom, or the buttons to decide. */
function Outcome({ row }: { row: TopUpRequestRow }) {
  if (row.status === 'DECLINED') return <Text size="sm">{`${row.declineReason} · ${row.decidedBy}`}</Text>
  if (row.status === 'PAID') return <Text size="sm">{row.decidedBy}</Text>
  return (
    <>
      {row.confirmedBy && (
        <Hint size="xs">{formatMessage(t.topUpRequests.waitsForSecond, { name: row.confirmedBy })}</Hint>
      )}
      <DecideRequest row={row} />
    </>
  )
}
