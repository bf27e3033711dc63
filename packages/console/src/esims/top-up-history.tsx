import type { EsimTopUp } from '@dealer-esim/gateway/http/console/esims/esim-top-ups.ts'
import { useApi } from '#api/use-api.ts'
import { packageTitleText } from '#catalogue/package-title.ts'
import { orderNumber } from '#orders/order-number.tsx'
import { figureColumn, moneyColumn, statusColumn, timeColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

/** They may be delivered while somebody is looking at the list. */
const REFRESH_MS = 3_000

/** The top-ups of an eSIM, each linked to its order. Hidden until there is one. */
export function TopUpHistory({ tenantId, profileId }: { tenantId: string; profileId: string }) {
  const path = `/tenants/${tenantId}/profiles/${profileId}/top-ups`
  const list = useApi<{ topUps: EsimTopUp[] }>(path, {}, { refreshMs: REFRESH_MS })
  if (list.data?.topUps.length === 0) return null
  return (
    <Card title={t.esims.topUps}>
      <List<EsimTopUp>
        label={t.esims.topUps}
        rows={list.data?.topUps}
        query={{ error: list.error, refetch: list.refetch }}
        idOf={(row) => row.orderNo}
        to={(row) => `/tenants/${tenantId}/orders/${row.orderNo}`}
        empty={{ title: t.esims.noTopUps }}
        columns={[
          { accessor: 'orderNo', title: t.esims.order, render: orderNumber },
          { accessor: 'packageName', title: t.esims.package, render: (row) => packageTitleText(row.packageName) },
          { accessor: 'periodNum', title: t.esims.topUpDays },
          statusColumn('orderStatus', t.orders.status),
          moneyColumn('amount', t.portal.price),
          figureColumn('refundedAmount', t.esims.refund, (row) => (
            <Amount value={row.refundedAmount || null} currency={row.currencyCode} />
          )),
          timeColumn('createdAt', t.common.created),
        ]}
      />
    </Card>
  )
}
