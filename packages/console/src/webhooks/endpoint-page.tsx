import { FilterChips } from '#lists/filter-chips.tsx'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
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
  const [filters] = useFilters()
  const choices = useDealerFilter()
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  return (
    <Page title={t.endpoint.title} {...(tenantId === undefined && { description: t.webhooks.chooseDealer })}>
      {choices.length > 0 && <FilterChips filters={choices} />}
      {tenantId && (
        <>
          <EndpointCard tenantId={tenantId} />
          <EndpointFigures tenantId={tenantId} />
          <Replays tenantId={tenantId} />
        </>
      )}
    </Page>
  )
}
