import { Paper } from '@mantine/core'
import { FilterChips } from '#lists/filter-chips.tsx'
import { DealerSelect, useDealerFilter } from '#parts/dealer-filter.tsx'
import { EmptyState } from '#parts/load-states.tsx'
import { Page } from '#parts/page.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { EndpointCard } from './endpoint.tsx'
import { EndpointFigures } from './endpoint-figures.tsx'
import { Replays } from './webhook-replays.tsx'

/** Where a dealer's events are sent, how that goes, and the replays of events. Operators choose the dealer. */
export function EndpointPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const choices = useDealerFilter()
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  if (tenantId === undefined)
    return (
      <Page title={t.endpoint.title}>
        <Paper withBorder>
          <EmptyState
            title={t.webhooks.chooseDealer}
            action={<DealerSelect value={undefined} onChange={(id) => setFilters({ tenantId: id })} />}
          />
        </Paper>
      </Page>
    )
  return (
    <Page title={t.endpoint.title}>
      {choices.length > 0 && <FilterChips filters={choices} />}
      <EndpointCard tenantId={tenantId} />
      <EndpointFigures tenantId={tenantId} />
      <Replays tenantId={tenantId} />
    </Page>
  )
}
