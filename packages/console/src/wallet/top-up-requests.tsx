import type { TopUpRequestRow } from '@dealer-esim/gateway/http/console/wallet/top-up-requests.ts'
import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { Anchor, Group, Text } from '@mantine/core'
import { apiUrl } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import type { ListView } from '#lists/list-views.tsx'
import { useList } from '#lists/use-list.ts'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { moneyColumn, relativeTimeColumn, statusColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { PhoneStatus } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
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
          relativeTimeColumn('createdAt', t.common.time, {
            width: 150,
          }),
          { accessor: 'clientName', title: t.common.dealer, hidden: !isForOperator, width: 120, phone: 'note' },
          moneyColumn('amount', t.wallet.amount, { width: 125, phone: 'value' }),
          { accessor: 'reference', title: t.topUpRequests.paymentReference, width: 155, phone: 'main' },
          {
            accessor: 'requestedBy',
            title: t.topUpRequests.requestedBy,
            width: 135,
            ...(isForOperator ? { optional: true } : { phone: 'note' }),
          },
          valueColumn('hasReceipt', t.topUpRequests.receipt, (row) => <Receipt row={row} />, { width: 145 }),
          statusColumn('status', t.common.status, { width: 130 }),
          timeColumn('decidedAt', t.topUpRequests.decided, { optional: true }),
          valueColumn('outcome', t.topUpRequests.outcome, (row) => <Outcome row={row} />, {
            width: 250,
            phone: 'status',
          }),
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

/** Shows what was decided and by whom, or the buttons to decide. On a phone, the status of a row stands where it has no buttons. */
function Outcome({ row }: { row: TopUpRequestRow }) {
  const me = useSession()
  const waits = row.confirmedBy && formatMessage(t.topUpRequests.waitsForSecond, { name: row.confirmedBy })
  if (row.status === 'REQUESTED' && canOperate(me))
    return (
      <Group gap="xs">
        <DecideRequest row={row} />
        {waits && <OneLine text={waits} />}
      </Group>
    )
  const decision = row.status === 'DECLINED' ? `${row.declineReason} · ${row.decidedBy}` : row.decidedBy
  return (
    <>
      <OneLine text={decision ?? waits ?? ''} />
      <PhoneStatus status={row.status} />
    </>
  )
}

/** A reason that somebody typed may be longer. */
function OneLine({ text }: { text: string }) {
  return (
    <Text size="sm" truncate visibleFrom="sm" title={text}>
      {text}
    </Text>
  )
}
