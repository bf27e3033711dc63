import type { SupplierRow } from '@dealer-esim/gateway/console-api/suppliers.ts'
import { Badge, Button, Group } from '@mantine/core'
import { count } from '../format.ts'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { told } from '../parts/tell.ts'
import { When } from '../parts/when.tsx'
import { operates, useSession } from '../session.tsx'
import { say, t } from '../strings/index.ts'
import { useApi, useChange } from '../use-api.ts'

const REFRESH_MS = 10_000

export function SuppliersPage() {
  const me = useSession()
  const list = useApi<{ suppliers: SupplierRow[] }>('/suppliers', {}, { refresh_ms: REFRESH_MS })
  return (
    <Page title={t.suppliers.title} description={t.suppliers.text}>
      <List<SupplierRow>
        label={t.suppliers.title}
        rows={list.data?.suppliers}
        loading={list.isLoading}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.supplier}
        empty={{ title: t.suppliers.empty, text: t.suppliers.emptyText }}
        columns={[
          { accessor: 'supplier', title: t.suppliers.name },
          { accessor: 'type', title: t.suppliers.type },
          { accessor: 'state', title: t.suppliers.state, render: (row) => <State row={row} /> },
          {
            accessor: 'waiting',
            title: t.suppliers.waiting,
            textAlign: 'right',
            render: (row) => count(row.waiting),
          },
          {
            accessor: 'available',
            title: t.suppliers.available,
            textAlign: 'right',
            render: (row) => (row.available === null ? '–' : count(row.available)),
          },
          { accessor: 'updatedAt', title: t.common.changed, render: (row) => <When at={row.updatedAt} /> },
          {
            accessor: 'actions',
            title: t.common.actions,
            textAlign: 'right',
            hidden: !operates(me),
            render: (row) => <Actions row={row} />,
          },
        ]}
      />
    </Page>
  )
}

function State({ row }: { row: SupplierRow }) {
  const state = row.paused ? 'paused' : (row.breaker ?? 'broken')
  const color = { closed: 'teal', open: 'red', 'half-open': 'yellow', paused: 'orange', broken: 'red' }[state]
  return (
    <Badge variant="light" color={color} tt="none" radius="sm" data-state={state}>
      {t.suppliers.states[state]}
    </Badge>
  )
}

function Actions({ row }: { row: SupplierRow }) {
  const test = useChange<{ works: boolean; words: string | null }>()
  const pause = useChange({ done: row.paused ? t.suppliers.resumed : t.suppliers.paused })
  const path = `/suppliers/${encodeURIComponent(row.supplier)}`
  const tell = ({ works, words }: { works: boolean; words: string | null }) =>
    told(say(works ? t.suppliers.works : t.suppliers.fails, { supplier: row.supplier, words: words ?? '' }))
  return (
    <Group gap={4} justify="flex-end">
      <Button
        size="compact-xs"
        variant="default"
        loading={test.isPending}
        onClick={() => test.mutate({ method: 'POST', path: `${path}/test` }, { onSuccess: tell })}
      >
        {t.suppliers.test}
      </Button>
      <Button
        size="compact-xs"
        variant="default"
        loading={pause.isPending}
        onClick={() => pause.mutate({ method: 'POST', path: `${path}/${row.paused ? 'resume' : 'pause'}` })}
      >
        {row.paused ? t.suppliers.resume : t.suppliers.pause}
      </Button>
    </Group>
  )
}
