import { ORDER_STATUSES, ORDER_TYPES } from '@dealer-esim/contract'
import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { useApi } from '#api/use-api.ts'
import { DealerFilter } from '#parts/dealer-filter.tsx'
import { FilterBar, FilterField, FilterSelect, PeriodFilter, SearchField } from '#parts/filters.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { locationName, sortLocations } from './buying/countries.ts'

export function OrderFilters() {
  const me = useSession()
  const [{ q = '' }, setFilters] = useFilters()
  return (
    <FilterBar
      search={<SearchField label={t.orders.search} value={q} onChange={(value) => setFilters({ q: value })} />}
    >
      <FilterSelect name="status" label={t.orders.status} values={ORDER_STATUSES} labels={t.statuses} />
      <FilterSelect name="waiting" label={t.orders.waitingTime} values={['LATE']} labels={t.orders.waitingTimes} />
      <FilterSelect name="orderType" label={t.orders.type} values={ORDER_TYPES} labels={t.orders.types} />
      <DealerFilter />
      <PeriodFilter />
      <FilterField name="packageCode" label={t.orders.package} />
      <LocationFilter />
      {isOperator(me) && <SupplierFilter />}
      <FilterField name="amountFrom" label={t.orders.amountFrom} w={165} />
      <FilterField name="amountTo" label={t.orders.amountTo} w={150} />
    </FilterBar>
  )
}

/** The countries of packages, and those that a link has chosen. */
function LocationFilter() {
  const [{ country }] = useFilters()
  const { data } = useApi<{ locations: string[] }>('/orders/locations')
  const values = sortLocations(withChosen(data?.locations ?? [], country))
  return (
    <FilterSelect
      name="country"
      label={t.orders.country}
      values={values}
      labels={Object.fromEntries(values.map((code) => [code, locationName(code)]))}
    />
  )
}

function SupplierFilter() {
  const [{ supplier }] = useFilters()
  const { data } = useApi<{ suppliers: SupplierRow[] }>('/suppliers')
  const values = withChosen(data?.suppliers.map((row) => row.supplier) ?? [], supplier)
  return <FilterSelect name="supplier" label={t.orders.supplier} values={values} labels={{}} />
}

/** A filter in a link may name what is not in the list any more. */
function withChosen(values: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || values.includes(chosen) ? values : [...values, chosen]
}
