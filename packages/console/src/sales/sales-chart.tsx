import type { SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import { type Bar, BarChart } from '#home/bar-chart.tsx'
import { formatDay, formatMoneyShort } from '#parts/format.ts'
import { t } from '#strings/strings.ts'
import { salesTooltip } from './margin.tsx'
import { addDays, timesOf } from './sales-period.ts'

const COST = 'var(--chart-2)'
const MARGIN = 'var(--chart)'
const UNKNOWN = 'var(--chart-warn)'

type Row = SalesReport['rows'][number]

/** Revenue by UTC day, divided into cost, margin, and revenue without a known cost. Each bar links to its orders. */
export function SalesChart(props: { report: SalesReport; currency: string; search?: Record<string, string> }) {
  const { report, currency, search = {} } = props
  const of = new Map(report.rows.filter((row) => row.currencyCode === currency).map((row) => [row.key, row]))
  const days: string[] = []
  for (let day = report.from; day <= report.to; day = addDays(day, 1)) days.push(day)
  const bars = days.map((day): Bar => {
    const row = of.get(day)
    const values = row ? partsOf(row) : [0, 0, 0]
    const title = row ? salesTooltip(row, currency) : t.dashboard.noData
    const to = { to: '/orders', search: { ...search, ...timesOf({ from: day, to: day }) } }
    return { day, values, title: `${formatDay(day)}: ${title}`, to }
  })
  return (
    <BarChart
      label={`${t.sales.revenue} ${currency}`}
      format={(amount) => formatMoneyShort(amount, currency)}
      series={[
        { name: t.sales.cost, color: COST },
        { name: t.sales.margin, color: MARGIN },
        { name: t.sales.costUnknown, color: UNKNOWN },
      ]}
      bars={bars}
    />
  )
}

/** The parts add up to the revenue. With a loss, cost fills the bar. */
function partsOf({ cost, margin, marginRevenue, unknownRevenue }: Row): number[] {
  const isLoss = margin === null || margin < 0
  return [isLoss ? marginRevenue : cost, isLoss ? 0 : margin, unknownRevenue].map((value) => Math.max(0, value))
}
