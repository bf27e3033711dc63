import type { SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import { Alert, Button, Group, NativeSelect } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { FilterChips } from '#lists/filter-chips.tsx'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { useFilterKinds } from '#parts/filters.tsx'
import { formatDay } from '#parts/format.ts'
import { EmptyState, Loading, LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { type Filters, useFilters } from '#parts/use-filters.ts'
import { Hint } from '#parts/values.tsx'
import { formatMessage, locale, t } from '#strings/strings.ts'
import { Balances } from './balances.tsx'
import { countryLabel } from './country.ts'
import { PeriodChoice } from './period-choice.tsx'
import { SalesChart } from './sales-chart.tsx'
import { chosenPeriod, type Period, timesOf } from './sales-period.ts'
import { type Breakdown, SalesTable } from './sales-table.tsx'
import { SalesTotals } from './sales-totals.tsx'

// The outlines of all countries take 26 kB.
const WorldMap = lazy(async () => ({ default: (await import('./world-map.tsx')).WorldMap }))

const BREAKDOWNS: readonly Breakdown[] = ['day', 'dealer', 'package', 'country', 'supplier']
const BALANCES = 'balances'
const REFRESH_MS = 60_000

/** Revenue, cost and margin of a period, and how long dealers' balances last. */
export function SalesPage() {
  const [filters, setFilters] = useFilters()
  const showsBalances = filters.by === BALANCES
  const choices = [
    ...BREAKDOWNS.map((value) => ({ value, label: t.sales.by[value] })),
    { value: BALANCES, label: t.sales.balances },
  ]
  const current = choices.find(({ value }) => value === filters.by)?.value ?? 'day'
  // There the tabs would not fit.
  const isNarrow = useMediaQuery('(max-width: 48em)')
  return (
    <Page title={t.sales.title} description={t.sales.text}>
      {isNarrow ? (
        <NativeSelect
          aria-label={t.sales.breakdown}
          value={current}
          data={choices.map(({ value, label }) => ({ value, label: value === BALANCES ? label : byText(label) }))}
          onChange={(event) => setFilters({ by: event.currentTarget.value })}
        />
      ) : (
        <Group component="nav" aria-label={t.sales.breakdown} gap={0} className="tabs" wrap="nowrap">
          {choices.map(({ value, label }) => (
            <Link
              key={value}
              to="/sales"
              search={((shown: Filters) => ({ ...shown, by: value })) as never}
              className="tab"
              {...(value === current && { 'aria-current': 'page' })}
            >
              {label}
            </Link>
          ))}
        </Group>
      )}
      {showsBalances ? <Balances /> : <Report filters={filters} />}
    </Page>
  )
}

/** Such as `By day`. */
function byText(label: string): string {
  return formatMessage(t.sales.byWhat, { what: label.toLocaleLowerCase(locale) })
}

function Report({ filters }: { filters: Filters }) {
  const { choice, typed } = useFilterKinds()
  const dealer = useDealerFilter()
  const by = BREAKDOWNS.find((one) => one === filters.by) ?? 'day'
  const period = chosenPeriod(filters, Date.now(), '30')
  const { tenantId, packageCode, country, supplier, orderType } = filters
  const search = given({ tenantId, packageCode, country, supplier, orderType })
  const query = { by, ...period, ...search }
  const choices = [
    ...dealer,
    choice({ name: 'orderType', label: t.orders.type, values: ['NEW', 'TOPUP'], labels: t.orders.types }),
    // Filters that links to this page set, so that they can be removed.
    ...(packageCode ? [typed('packageCode', t.orders.package)] : []),
    ...(country ? [{ ...typed('country', t.orders.country), text: countryLabel(country, country) }] : []),
    ...(supplier ? [typed('supplier', t.orders.supplier)] : []),
  ]
  const { data, error, refetch, isFetching } = useApi<SalesReport>('/sales', query, { refreshMs: REFRESH_MS })
  return (
    <>
      <Group>
        <PeriodChoice period={period} otherwise="30" />
        <FilterChips filters={choices} />
        <Button component="a" href={apiUrl('/sales.csv', query).href} download variant="default" ml="auto">
          {t.common.export}
        </Button>
      </Group>
      {!data && <LoadState error={error} retry={refetch} />}
      {data && <Figures {...{ by, report: data, period, search, loading: isFetching }} />}
    </>
  )
}

interface FiguresProps {
  by: Breakdown
  report: SalesReport
  period: Period
  search: Record<string, string>
  loading: boolean
}

/** The figures of each currency separately, because amounts in different currencies are never added. */
function Figures({ by, report, period, search, loading }: FiguresProps) {
  const orders = { to: '/orders', search: { ...search, ...timesOf(period) } }
  const isCompared = report.totals.some(({ previous }) => previous.items > 0)
  if (report.totals.length === 0)
    return (
      <Card>
        <EmptyState title={t.sales.none} text={t.sales.noneText} />
      </Card>
    )
  return (
    <>
      <Hint>
        {formatMessage(isCompared ? t.sales.compared : t.sales.notCompared, {
          ...{ from: formatDay(report.from), to: formatDay(report.to) },
          ...{ previousFrom: formatDay(report.previousFrom), previousTo: formatDay(report.previousTo) },
        })}
      </Hint>
      {report.totals.map((total) => {
        const { currencyCode: currency } = total
        const rows = report.rows.filter((row) => row.currencyCode === currency)
        return (
          <Card key={currency} title={currency}>
            <SalesTotals total={total} to={orders} />
            {total.unknownItems > 0 && (
              <Alert color="yellow" py="xs" data-unknown={total.unknownItems}>
                {formatMessage(t.sales.unknownText, { count: total.unknownItems })}
              </Alert>
            )}
            {by === 'day' && <SalesChart report={report} currency={currency} search={search} />}
            {by === 'country' && (
              <Suspense fallback={<Loading />}>
                <WorldMap rows={rows} currency={currency} linkTo={(row) => ({ ...orders.search, country: row.key })} />
              </Suspense>
            )}
            <SalesTable {...{ by, rows, period, search, loading }} />
          </Card>
        )
      })}
      {report.omitted > 0 && <Hint>{formatMessage(t.sales.omitted, { count: report.omitted })}</Hint>}
    </>
  )
}

/** Returns the members that are neither undefined nor empty. */
function given(members: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, string] => !!entry[1]))
}
