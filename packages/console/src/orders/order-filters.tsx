import { ORDER_STATUSES, ORDER_TYPES } from '@dealer-esim/contract'
import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { useApi } from '#api/use-api.ts'
import type { Filter } from '#lists/filter-chips.tsx'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { useFilterKinds } from '#parts/filters.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { locationName, sortLocations } from './buying/countries.ts'

/** The filters of orders. The countries and suppliers are those in use and those that a link has selected. */
export function useOrderFilters(): Filter[] {
  const me = useSession()
  const [{ country, supplier }] = useFilters()
  const { choice, typed, period } = useFilterKinds()
  const dealer = useDealerFilter()
  const locations = useApi<{ locations: string[] }>('/orders/locations').data?.locations ?? []
  const suppliers = useApi<{ suppliers: SupplierRow[] }>('/suppliers', {}, { enabled: isOperator(me) }).data?.suppliers
  const countries = sortLocations(withChosen(locations, country))
  const names = withChosen(suppliers?.map((row) => row.supplier) ?? [], supplier)
  return [
    choice({ name: 'status', label: t.orders.status, values: ORDER_STATUSES, labels: t.statuses }),
    choice({ name: 'waiting', label: t.orders.waitingTime, values: ['LATE'], labels: t.orders.waitingTimes }),
    choice({ name: 'orderType', label: t.orders.type, values: ORDER_TYPES, labels: t.orders.types }),
    ...dealer,
    period(),
    typed('packageCode', t.orders.package),
    choice({
      name: 'country',
      label: t.orders.country,
      values: countries,
      labels: Object.fromEntries(countries.map((code) => [code, locationName(code)])),
    }),
    ...(isOperator(me) ? [choice({ name: 'supplier', label: t.orders.supplier, values: names, labels: {} })] : []),
    typed('amountFrom', t.orders.amountFrom),
    typed('amountTo', t.orders.amountTo),
  ]
}

/** A filter in a link may contain a value that is no longer in the list. */
function withChosen(values: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || values.includes(chosen) ? values : [...values, chosen]
}
