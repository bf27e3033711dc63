import { EVENT_TYPES } from '@dealer-esim/contract'
import type { EventRow } from '@dealer-esim/gateway/console-api/routes/tenants/webhooks.ts'
import { Group } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { ExplorerButton } from '../explorer/explorer-button.tsx'
import { DealerFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, PeriodFilter, periodRange, SearchField, useFilters } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Timestamp } from '../parts/values.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'
import { EndpointCard } from './endpoint.tsx'
import { EndpointFigures } from './endpoint-figures.tsx'
import { outcomeText } from './event.tsx'
import { EventState, EventStatuses } from './event-state.tsx'
import { Replays } from './replays.tsx'

export function WebhooksPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  const { state, type, q, orderNo, cursor } = filters
  const query = { tenantId, q, state, type, orderNo, cursor, ...periodRange(filters) }
  const list = useApi<{ events: EventRow[]; nextCursor: string | null }>('/events', query)
  const filtered = Object.keys(filters).length > 0
  return (
    <Page title={t.webhooks.title} {...(isOperator(me) && !tenantId && { description: t.webhooks.chooseDealer })}>
      {tenantId && <EndpointCard tenantId={tenantId} />}
      {tenantId && <EndpointFigures tenantId={tenantId} />}
      {tenantId && <Replays tenantId={tenantId} />}
      <Group>
        <SearchField label={t.webhooks.search} value={q ?? ''} onChange={(value) => setFilters({ q: value })} />
        <DealerFilter />
        <FilterSelect
          name="state"
          label={t.webhooks.state}
          values={Object.keys(t.webhooks.states)}
          labels={t.webhooks.states}
        />
        <FilterSelect name="type" label={t.webhooks.type} values={EVENT_TYPES} labels={t.webhooks.types} />
        <PeriodFilter />
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
            ? { title: t.webhooks.noMatch, text: t.webhooks.noMatchText }
            : { title: t.webhooks.noEvents, text: t.webhooks.noEventsText, action: <ExplorerButton /> }
        }
        columns={[
          { accessor: 'notifyType', title: t.webhooks.type, render: (row) => t.webhooks.types[row.notifyType] },
          { accessor: 'statuses', title: t.webhooks.status, render: (row) => <EventStatuses event={row} /> },
          { accessor: 'clientName', title: t.common.dealer, hidden: !isOperator(me) },
          {
            accessor: 'orderNo',
            title: t.orders.number,
            cellsClassName: 'mono',
            render: (row) => row.orderNo ?? '–',
          },
          {
            accessor: 'deliveryState',
            title: t.webhooks.state,
            render: (row) => <EventState event={row} />,
          },
          {
            accessor: 'attempts',
            title: t.webhooks.attempts,
            textAlign: 'right',
            render: (row) => row.attempts ?? '–',
          },
          {
            accessor: 'lastOutcome',
            title: t.webhooks.lastResponse,
            render: (row) => outcomeText(row.lastOutcome) ?? '–',
          },
          { accessor: 'createdAt', title: t.common.time, render: (row) => <Timestamp time={row.createdAt} /> },
        ]}
      />
    </Page>
  )
}
