import type { SalesFigures, SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import { Anchor, SimpleGrid, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { formatDay } from '#parts/format.ts'
import { LoadError } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { Change, Margin, Sum } from './margin.tsx'
import { SalesChart } from './sales-chart.tsx'
import { type Period, periodOf, timesOf } from './sales-period.ts'

const REFRESH_MS = 60_000

/** For operators: revenue and margin today, yesterday and in the period, each compared with the preceding one. */
export function SalesOverview({ period, currencies }: { period: Period; currencies: string[] }) {
  const [today, yesterday] = [periodOf('today', Date.now()), periodOf('yesterday', Date.now())]
  const whole = useReport(period)
  const reports = [
    { name: t.sales.today, days: today, report: useReport(today).data },
    { name: t.sales.yesterday, days: yesterday, report: useReport(yesterday).data },
    { name: formatMessage(t.sales.period, { days: daysText(period) }), days: period, report: whole.data },
  ]
  if (whole.error && !whole.data) return <LoadError error={whole.error} retry={whole.refetch} />
  if (!whole.data) return <Card title={t.sales.title}>{t.common.loading}</Card>
  const report = whole.data
  const sold = report.totals.map((total) => total.currencyCode)
  // A period without sales keeps a card.
  return (sold.length > 0 ? sold : currencies.slice(0, 1)).map((currency) => (
    <Card
      key={currency}
      title={formatMessage(t.sales.titleIn, { currency })}
      actions={
        <Anchor component={Link} to="/sales" search={period as never} size="sm">
          {t.sales.open}
        </Anchor>
      }
    >
      <SimpleGrid cols={{ base: 1, sm: 3 }} data-sales={currency}>
        {reports.map(({ name, days, report }) => (
          <PeriodFigures
            key={name}
            name={name}
            days={days}
            currency={currency}
            isLoaded={report !== undefined}
            total={report?.totals.find((total) => total.currencyCode === currency)}
          />
        ))}
      </SimpleGrid>
      <SalesChart report={report} currency={currency} />
      <Hint size="xs">{t.sales.utcDays}</Hint>
    </Card>
  ))
}

function useReport(period: Period) {
  return useApi<SalesReport>('/sales', { by: 'day', ...period }, { refreshMs: REFRESH_MS })
}

function daysText({ from, to }: Period): string {
  return from === to ? formatDay(from) : `${formatDay(from)} – ${formatDay(to)}`
}

function PeriodFigures(props: {
  name: string
  days: Period
  currency: string
  isLoaded: boolean
  /** undefined if nothing was sold. */
  total: SalesFigures | undefined
}) {
  const { name, days, currency, isLoaded, total } = props
  const { revenue, previous } = total ?? { revenue: 0, previous: undefined }
  return (
    <Stack gap={2}>
      <Hint size="xs">{name}</Hint>
      <Anchor component={Link} to="/orders" search={timesOf(days) as never} c="inherit" fw={650} fz="xl" lh={1.2}>
        {isLoaded ? <Sum value={revenue} currency={currency} /> : t.common.loading}
      </Anchor>
      {total && (
        <Text size="sm" component="div">
          {t.sales.margin}: <Margin {...total} currency={currency} />
        </Text>
      )}
      {previous && previous.revenue > 0 && (
        <Hint size="xs">
          <Change now={revenue} before={previous.revenue} /> {t.sales.before}
        </Hint>
      )}
    </Stack>
  )
}
