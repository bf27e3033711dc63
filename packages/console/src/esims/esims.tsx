import { ESIM_STATUSES, SMDP_STATUSES } from '@dealer-esim/contract'
import type { ProfileRow } from '@dealer-esim/gateway/console-api/routes/orders/profiles.ts'
import { Group } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { DealerFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, PeriodFilter, periodRange, SearchField, useFilters } from '../parts/filters.tsx'
import { formatBytes } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Status, Timestamp } from '../parts/values.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'

export function EsimsPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const { esimStatus, smdpStatus, tenantId, orderNo, cursor } = filters
  const iccid = filters.iccid?.replaceAll(/\D/g, '')
  const query = { iccid, esimStatus, smdpStatus, tenantId, orderNo, cursor, ...periodRange(filters) }
  const list = useApi<{ profiles: ProfileRow[]; nextCursor: string | null }>('/profiles', query)
  const filtered = Object.keys(filters).length > 0
  return (
    <Page title={t.esims.title}>
      <Group>
        <SearchField
          label={t.esims.search}
          value={filters.iccid ?? ''}
          onChange={(value) => setFilters({ iccid: value })}
        />
        <FilterSelect name="esimStatus" label={t.esims.esimStatus} values={ESIM_STATUSES} labels={t.statuses} />
        <FilterSelect name="smdpStatus" label={t.esims.smdpStatus} values={SMDP_STATUSES} labels={t.statuses} />
        <DealerFilter />
        <PeriodFilter />
      </Group>
      <List<ProfileRow>
        label={t.esims.title}
        rows={list.data?.profiles}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.profileId}
        to={(row) => `/tenants/${row.tenantId}/profiles/${row.profileId}`}
        empty={
          filtered
            ? { title: t.esims.noMatch, text: t.esims.noMatchText }
            : { title: t.esims.noEsims, text: t.esims.noEsimsText }
        }
        columns={[
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
          { accessor: 'clientName', title: t.common.dealer, hidden: !isOperator(me) },
          { accessor: 'packageCode', title: t.esims.package },
          { accessor: 'esimStatus', title: t.esims.esimStatus, render: (row) => <Status status={row.esimStatus} /> },
          { accessor: 'smdpStatus', title: t.esims.smdpStatus, render: (row) => <Status status={row.smdpStatus} /> },
          { accessor: 'usage', title: t.esims.usage, textAlign: 'right', render: formatUsage },
          { accessor: 'createdAt', title: t.common.created, render: (row) => <Timestamp time={row.createdAt} /> },
        ]}
      />
    </Page>
  )
}

export function formatUsage({ orderUsage, totalVolume }: ProfileRow): string {
  if (orderUsage === null) return '–'
  return totalVolume === null ? formatBytes(orderUsage) : `${formatBytes(orderUsage)} / ${formatBytes(totalVolume)}`
}
