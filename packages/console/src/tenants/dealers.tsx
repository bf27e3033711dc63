import type { TagCount } from '@dealer-esim/gateway/http/console/tenants/notes.ts'
import type { TenantRow } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { Bulk } from '#lists/bulk.tsx'
import type { Filter } from '#lists/filter-chips.tsx'
import { periodRange } from '#lists/list-period.ts'
import type { ListView } from '#lists/list-views.tsx'
import { isFiltered, useList } from '#lists/use-list.ts'
import { ReasonField } from '#parts/dialog.tsx'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { formatCount } from '#parts/format.ts'
import { moneyColumn, statusColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { PlanField } from '#prices/price-assignment.tsx'
import { t } from '#strings/page-texts.ts'
import { DealerName } from './dealer-name.tsx'

const DealerWizard = lazy(async () => ({ default: (await import('#home/setup/dealer-wizard.tsx')).DealerWizard }))

const VIEWS: ListView[] = (['ACTIVE', 'SUSPENDED'] as const).map((status) => ({
  label: t.statuses[status],
  search: { status },
}))

export function DealersPage() {
  const me = useSession()
  const navigate = useNavigate()
  const [filters] = useFilters()
  const { choice, period } = useFilterKinds()
  const byTag = useTagFilter()
  const choices = [
    choice({ name: 'status', label: t.common.status, values: ['ACTIVE', 'SUSPENDED'], labels: t.statuses }),
    ...(byTag ? [byTag] : []),
    period(),
  ]
  const { q, status, tag } = filters
  const list = useList<TenantRow>('/tenants', 'tenants', { q, status, tag, ...periodRange(filters) })
  const [selected, setSelected] = useState<string[]>([])
  const chosen = (list.rows ?? []).filter((row) => selected.includes(row.tenantId))
  const [creating, setCreating] = useState(filters.new !== undefined)
  const create = canOperate(me) && <Button onClick={() => setCreating(true)}>{t.dealers.new}</Button>
  return (
    <Page title={t.dealers.title} actions={create}>
      <List<TenantRow>
        label={t.dealers.title}
        list={list}
        name="dealers"
        search={<SearchBox name="q" label={t.dealers.search} />}
        filters={choices}
        views={VIEWS}
        {...(canOperate(me) && { selected, onSelect: setSelected })}
        {...(chosen.length > 0 && { bulk: <DealerBulk dealers={chosen} onClear={() => setSelected([])} /> })}
        idOf={(row) => row.tenantId}
        to={(row) => `/tenants/${row.tenantId}`}
        empty={
          isFiltered(filters)
            ? { title: t.dealers.noMatch, text: t.dealers.noMatchText }
            : { title: t.dealers.none, text: t.dealers.noneText, action: create }
        }
        columns={[
          valueColumn('clientName', t.dealers.name, (row) => <DealerName name={row.clientName} />, { phone: 'main' }),
          statusColumn('status', t.common.status, { phone: 'status' }),
          moneyColumn('balance', t.dealers.balance, { phone: 'value' }),
          { accessor: 'appKey', title: t.dealers.appKey, cellsClassName: 'mono' },
          { accessor: 'tags', title: t.notes.tags, optional: true, render: (row) => row.tags.join(', ') || '–' },
          timeColumn('createdAt', t.dealers.created),
        ]}
      />
      <Suspense>
        {creating && (
          <DealerWizard
            dealer={null}
            onClose={(dealer) => {
              setCreating(false)
              if (dealer) void navigate({ to: `/tenants/${dealer.tenantId}` })
            }}
          />
        )}
      </Suspense>
    </Page>
  )
}

/** undefined if no dealer has a tag. */
function useTagFilter(): Filter | undefined {
  const [{ tag }] = useFilters()
  const { choice } = useFilterKinds()
  const { data } = useApi<{ tags: TagCount[] }>('/tags')
  const counts = data?.tags ?? []
  const values = counts.map((one) => one.tag)
  if (tag !== undefined && !values.includes(tag)) values.push(tag)
  if (values.length === 0) return undefined
  const labels = Object.fromEntries(counts.map((one) => [one.tag, `${one.tag} (${formatCount(one.dealers)})`]))
  return choice({ name: 'tag', label: t.notes.tag, values, labels })
}

function DealerBulk({ dealers, onClear }: { dealers: TenantRow[]; onClear(): void }) {
  return (
    <Bulk
      rows={dealers}
      idOf={(row) => row.tenantId}
      nameOf={(row) => row.clientName}
      onClear={onClear}
      actions={[
        {
          label: t.prices.changePlan,
          fields: <PlanField chosen={null} />,
          change: (row, { planName }) => ({
            method: 'PUT',
            path: `/tenants/${row.tenantId}/price-plan`,
            body: { planName: planName || null },
          }),
        },
        {
          label: t.dealers.suspend,
          text: t.dealers.suspendText,
          danger: true,
          fields: <ReasonField />,
          skip: (row) => (row.status === 'SUSPENDED' ? t.dealers.alreadySuspended : undefined),
          change: (row, body) => ({ method: 'POST', path: `/tenants/${row.tenantId}/suspend`, body }),
        },
      ]}
    />
  )
}
