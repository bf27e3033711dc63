import { EVENT_TYPES } from '@dealer-esim/contract'
import type { EventRow } from '@dealer-esim/gateway/console-api/webhooks.ts'
import { Group } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { TenantFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, Period, rangeOf, useFilters } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Status, When } from '../parts/values.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'
import { WebhookSetting } from './endpoint.tsx'
import { outcomeOf } from './event.tsx'
import { Replays } from './replays.tsx'

export function WebhooksPage() {
  const me = useSession()
  const [filters] = useFilters()
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  const { state, type, orderNo, cursor } = filters
  const query = { tenantId, state, type, orderNo, cursor, ...rangeOf(filters) }
  const list = useApi<{ events: EventRow[]; nextCursor: string | null }>('/events', query)
  const filtered = Object.keys(filters).length > 0
  return (
    <Page title={t.webhooks.title} {...(isOperator(me) && !tenantId && { description: t.webhooks.chooseDealer })}>
      {tenantId && <WebhookSetting tenantId={tenantId} />}
      {tenantId && <Replays tenantId={tenantId} />}
      <Group>
        <TenantFilter />
        <FilterSelect
          name="state"
          label={t.webhooks.state}
          of={Object.keys(t.webhooks.states)}
          texts={t.webhooks.states}
        />
        <FilterSelect name="type" label={t.webhooks.type} of={EVENT_TYPES} texts={t.webhooks.types} />
        <Period />
      </Group>
      <List<EventRow>
        label={t.webhooks.events}
        rows={list.data?.events}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.notifyId}
        to={(row) => `/tenants/${row.tenantId}/events/${row.notifyId}`}
        empty={
          filtered
            ? { title: t.webhooks.none, text: t.webhooks.noneText }
            : { title: t.webhooks.empty, text: t.webhooks.emptyText }
        }
        columns={[
          { accessor: 'notifyType', title: t.webhooks.type, render: (row) => t.webhooks.types[row.notifyType] },
          { accessor: 'clientName', title: t.common.dealer, hidden: !isOperator(me) },
          { accessor: 'orderNo', title: t.orders.number, cellsClassName: 'mono' },
          {
            accessor: 'deliveryState',
            title: t.webhooks.state,
            render: (row) => <Status of={row.deliveryState} texts={t.webhooks.states} />,
          },
          {
            accessor: 'attempts',
            title: t.webhooks.attempts,
            textAlign: 'right',
            render: (row) => row.attempts ?? '–',
          },
          { accessor: 'lastOutcome', title: t.webhooks.last, render: (row) => outcomeOf(row.lastOutcome) ?? '–' },
          { accessor: 'createdAt', title: t.common.time, render: (row) => <When at={row.createdAt} /> },
        ]}
      />
    </Page>
  )
}
