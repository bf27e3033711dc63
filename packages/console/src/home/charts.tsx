import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import { formatCount, formatDay, formatDuration, formatMoney, formatMoneyShort, formatPercent } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { type Bar, BarChart } from './bar-chart.tsx'

const GREEN = 'var(--chart-ok)'

const RED = 'var(--chart-bad)'

const GRAY = 'var(--chart-quiet)'

const CYAN = 'var(--chart)'

export function OrdersChart({ data }: { data: Dashboard }) {
  const sum = data.orders.reduce((all, row) => all + row.orders, 0)
  return (
    <Card title={`${t.dashboard.orders}: ${formatCount(sum)}`}>
      <BarChart
        label={t.dashboard.orders}
        format={formatCount}
        series={[
          { name: t.dashboard.delivered, color: GREEN },
          { name: t.dashboard.failed, color: RED },
          { name: t.dashboard.otherOrders, color: GRAY },
        ]}
        bars={dailyBars(data.days, data.orders, (row) => {
          const { orders = 0, delivered = 0, failed = 0 } = row ?? {}
          const title = formatMessage(t.dashboard.ordersTooltip, { orders: formatCount(orders), delivered, failed })
          return { values: [delivered, failed, orders - delivered - failed], title, ...linkToOrders(row?.day) }
        })}
      />
    </Card>
  )
}

/** A dealer's spend per day, less refunds. */
export function SpendChart({ data, currency }: { data: Dashboard; currency: string }) {
  const name = t.dashboard.spend
  const rows = data.sales.filter((row) => row.currencyCode === currency)
  const sum = rows.reduce((all, row) => all + row.amount, 0)
  return (
    <Card title={`${name}: ${formatMoney(sum, currency)}`}>
      <BarChart
        label={`${name} ${currency}`}
        format={(amount) => formatMoneyShort(amount, currency)}
        series={[{ name, color: CYAN }]}
        bars={dailyBars(data.days, rows, (row) => ({
          values: [row?.amount ?? 0],
          title: formatMoney(row?.amount ?? 0, currency),
          ...linkToOrders(row?.day),
        }))}
      />
    </Card>
  )
}

export function DeliveryTimeChart({ data }: { data: Dashboard }) {
  return (
    <Card title={t.dashboard.deliveryTime}>
      <BarChart
        label={t.dashboard.deliveryTime}
        format={formatDuration}
        series={[{ name: t.dashboard.median50, color: CYAN }]}
        curve={t.dashboard.within95}
        bars={dailyBars(data.days, data.orders, (row) => ({
          values: [row?.p50_ms ?? 0],
          point: row?.p95_ms ?? null,
          title:
            row?.p50_ms == null
              ? t.dashboard.noData
              : formatMessage(t.dashboard.deliveryTimeTooltip, {
                  median: formatDuration(row.p50_ms),
                  p95: formatDuration(row.p95_ms ?? 0),
                }),
          ...linkToOrders(row?.day, { status: 'DELIVERED' }),
        }))}
      />
    </Card>
  )
}

/** Events per day by delivery state. Each bar links to a list of exactly these events. */
export function EventsChart({ data }: { data: Dashboard }) {
  const sum = (member: 'delivered' | 'dead' | 'pending') => data.webhooks.reduce((all, row) => all + row[member], 0)
  const delivered = sum('delivered')
  const sent = delivered + sum('dead') + sum('pending')
  const { DELIVERED, DEAD, PENDING, UNSENT } = t.webhooks.states
  return (
    <Card
      title={t.dashboard.events}
      actions={
        sent > 0 && (
          <Hint size="xs">
            {formatMessage(t.dashboard.eventsDelivered, { percent: formatPercent(delivered / sent) })}
          </Hint>
        )
      }
    >
      <CountedDays data={data} />
      <BarChart
        label={t.dashboard.events}
        format={formatCount}
        series={[
          { name: DELIVERED, color: GREEN },
          { name: DEAD, color: RED },
          { name: PENDING, color: CYAN },
          { name: UNSENT, color: GRAY },
        ]}
        bars={dailyBars(data.days, data.webhooks, (row) => {
          const { delivered = 0, dead = 0, pending = 0, unsent = 0 } = row ?? {}
          const title = formatMessage(t.dashboard.eventsTooltip, { delivered, dead, pending, unsent })
          const to = row && { to: { to: '/webhooks', search: { from: row.day, to: row.day } } }
          return { values: [delivered, dead, pending, unsent], title, ...to }
        })}
      />
    </Card>
  )
}

/** Names the days for which events and supplier attempts are counted, unless all of them are. */
export function CountedDays({ data: { countedDays, days } }: { data: Dashboard }) {
  if (countedDays === days.length) return null
  return (
    <Hint>
      {countedDays === 0 ? t.dashboard.notCounted : formatMessage(t.dashboard.countedDays, { count: countedDays })}
    </Hint>
  )
}

/** A bar for every day of the period, including days without data. */
function dailyBars<Row extends { day: string }>(
  days: string[],
  rows: Row[],
  bar: (row: Row | undefined) => Omit<Bar, 'day'>,
): Bar[] {
  const of = new Map(rows.map((row) => [row.day, row]))
  return days.map((day) => {
    const { title, ...rest } = bar(of.get(day))
    return { day, title: `${formatDay(day)}: ${title}`, ...rest }
  })
}

function linkToOrders(day: string | undefined, search: Record<string, string> = {}) {
  return day === undefined ? {} : { to: { to: '/orders', search: { from: day, to: day, ...search } } }
}
