import { EVENT_TYPES } from '@dealer-esim/contract'
import type { EventRow } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { useState } from 'react'
import { Bulk } from '#lists/bulk.tsx'
import { periodRange } from '#lists/list-period.ts'
import { isFiltered, useList } from '#lists/use-list.ts'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { figureColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { ExplorerButton } from '#tenants/explorer/explorer-button.tsx'
import { outcomeText } from './event.tsx'
import { EventState, EventStatuses } from './event-state.tsx'

/** More attempts may follow while somebody is looking at the list. */
const REFRESH_MS = 5_000

export function WebhooksPage() {
  const me = useSession()
  const [filters] = useFilters()
  const { choice, period } = useFilterKinds()
  const { states, types } = t.webhooks
  const choices = [
    ...useDealerFilter(),
    choice({ name: 'state', label: t.webhooks.state, values: Object.keys(states), labels: states }),
    choice({ name: 'type', label: t.webhooks.type, values: EVENT_TYPES, labels: types }),
    period(),
  ]
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  const { state, type, q, orderNo } = filters
  const query = { tenantId, q, state, type, orderNo, ...periodRange(filters) }
  const list = useList<EventRow>('/events', 'events', query, { refreshMs: REFRESH_MS })
  const [selected, setSelected] = useState<string[]>([])
  const chosen = (list.rows ?? []).filter((row) => selected.includes(row.notifyId))
  return (
    <Page title={t.webhooks.title}>
      <List<EventRow>
        label={t.webhooks.events}
        list={list}
        name="events"
        search={<SearchBox name="q" label={t.webhooks.search} />}
        filters={choices}
        {...(canEdit(me) && { selected, onSelect: setSelected })}
        {...(chosen.length > 0 && { bulk: <EventBulk events={chosen} onClear={() => setSelected([])} /> })}
        idOf={(row) => row.notifyId}
        to={(row) => `/tenants/${row.tenantId}/events/${row.notifyId}`}
        empty={
          isFiltered(filters)
            ? { title: t.webhooks.noMatch, text: t.webhooks.noMatchText }
            : { title: t.webhooks.noEvents, text: t.webhooks.noEventsText, action: <ExplorerButton /> }
        }
        columns={[
          valueColumn('notifyType', t.webhooks.type, (row) => t.webhooks.types[row.notifyType], {
            phone: 'main',
            width: 165,
          }),
          valueColumn('statuses', t.webhooks.status, (row) => <EventStatuses event={row} />, { width: 165 }),
          { accessor: 'clientName', title: t.common.dealer, hidden: !isOperator(me), width: 120 },
          valueColumn('orderNo', t.orders.number, (row) => row.orderNo ?? '–', {
            phone: 'note',
            width: 120,
            cellsClassName: 'mono',
          }),
          valueColumn('deliveryState', t.webhooks.state, (row) => <EventState event={row} />, {
            phone: 'status',
            width: 145,
          }),
          figureColumn('attempts', t.webhooks.attempts, (row) => row.attempts ?? '–', { optional: true }),
          valueColumn('lastOutcome', t.webhooks.lastResponse, (row) => outcomeText(row.lastOutcome) ?? '–', {
            width: 135,
          }),
          timeColumn('createdAt', t.common.time, { phone: 'value' }),
          timeColumn('dueAt', t.webhooks.nextAttempt, { optional: true }),
        ]}
      />
    </Page>
  )
}

function EventBulk({ events, onClear }: { events: EventRow[]; onClear(): void }) {
  return (
    <Bulk
      rows={events}
      idOf={(row) => row.notifyId}
      nameOf={(row) => `${t.webhooks.types[row.notifyType]} · ${row.orderNo ?? row.notifyId}`}
      onClear={onClear}
      actions={[
        {
          label: t.webhooks.resendSelected,
          skip: (row) => (row.deliveryState === 'PENDING' ? t.webhooks.resendWaiting : undefined),
          change: (row) => ({ method: 'POST', path: `/tenants/${row.tenantId}/events/${row.notifyId}/resend` }),
        },
      ]}
    />
  )
}
