import type { TenantDetail, TenantRow } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import type { Filter } from '#lists/filter-chips.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { useFilters } from './use-filters.ts'

/** Filters a list by dealer. Not shown to a dealer's own people. */
export function useDealerFilter(): Filter[] {
  const me = useSession()
  const [{ tenantId }, setFilters] = useFilters()
  const isChosen = isOperator(me) && tenantId !== undefined
  const chosen = useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: isChosen })
  if (!isOperator(me)) return []
  return [
    {
      name: 'tenantId',
      label: t.common.dealer,
      text: tenantId && (chosen.data?.clientName ?? t.common.loading),
      field: <DealerSelect value={tenantId} onChange={(id) => setFilters({ tenantId: id })} />,
    },
  ]
}

export function DealerSelect(props: { value: string | undefined; onChange(tenantId: string | null): void }) {
  const [text, setText] = useState('')
  const [q] = useDebouncedValue(text, 200)
  const chosen = useApi<TenantDetail>(`/tenants/${props.value}`, {}, { enabled: props.value !== undefined })
  const name = props.value ? chosen.data?.clientName : undefined
  const list = useApi<{ tenants: TenantRow[] }>('/tenants', { q: q === name ? undefined : q })
  const rows = list.data?.tenants ?? []
  const options = rows.map((row) => ({ value: row.tenantId, label: row.clientName }))
  if (props.value && name && !rows.some((row) => row.tenantId === props.value))
    options.unshift({ value: props.value, label: name })
  return (
    <Select
      aria-label={t.common.dealer}
      placeholder={`${t.common.dealer}: ${t.common.any}`}
      data={options}
      value={props.value ?? null}
      onChange={props.onChange}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t.common.clear }}
      onSearchChange={setText}
      filter={({ options }) => options}
      w={{ base: '100%', sm: 220 }}
    />
  )
}
