import type { TenantRow } from '@dealer-esim/gateway/console-api/routes/tenants/tenants.ts'
import { Button, Group, NativeSelect } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../api/use-api.ts'
import { SearchField, useFilters } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Amount, Status, Timestamp } from '../parts/values.tsx'
import { canOperate, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'
import { NewDealer } from './new-dealer.tsx'

export function DealersPage() {
  const me = useSession()
  const navigate = useNavigate()
  const [filters, setFilters] = useFilters()
  const { q, status, cursor } = filters
  const list = useApi<{ tenants: TenantRow[]; nextCursor: string | null }>('/tenants', { q, status, cursor })
  const [creating, setCreating] = useState(false)
  const create = canOperate(me) && <Button onClick={() => setCreating(true)}>{t.dealers.new}</Button>
  const filtered = Boolean(q || status)
  return (
    <Page title={t.dealers.title} actions={create}>
      <Group>
        <SearchField label={t.dealers.search} value={q ?? ''} onChange={(value) => setFilters({ q: value })} />
        <NativeSelect
          aria-label={t.common.status}
          value={status ?? ''}
          onChange={(event) => setFilters({ status: event.currentTarget.value })}
          data={[
            { value: '', label: `${t.common.status}: ${t.common.any}` },
            { value: 'ACTIVE', label: t.statuses.ACTIVE },
            { value: 'SUSPENDED', label: t.statuses.SUSPENDED },
          ]}
        />
      </Group>
      <List<TenantRow>
        label={t.dealers.title}
        rows={list.data?.tenants}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.tenantId}
        to={(row) => `/tenants/${row.tenantId}`}
        empty={
          filtered
            ? { title: t.dealers.noMatch, text: t.dealers.noMatchText }
            : { title: t.dealers.none, text: t.dealers.noneText, action: create }
        }
        columns={[
          { accessor: 'clientName', title: t.dealers.name },
          { accessor: 'status', title: t.common.status, render: (row) => <Status status={row.status} /> },
          {
            accessor: 'balance',
            title: t.dealers.balance,
            textAlign: 'right',
            render: (row) => <Amount value={row.balance} currency={row.currencyCode} />,
          },
          { accessor: 'appKey', title: t.dealers.appKey, cellsClassName: 'mono' },
          { accessor: 'createdAt', title: t.dealers.created, render: (row) => <Timestamp time={row.createdAt} /> },
        ]}
      />
      {creating && (
        <NewDealer
          onClose={() => setCreating(false)}
          onCreated={({ tenantId }) => void navigate({ to: `/tenants/${tenantId}` })}
        />
      )}
    </Page>
  )
}
