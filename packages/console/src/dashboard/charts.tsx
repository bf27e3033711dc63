import type { Dashboard } from '@dealer-esim/gateway/console-api/dashboard.ts'
import { Anchor, Group, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { count, milliseconds, money, moneyInShort, percent, shortDay } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { say, t } from '../strings/strings.ts'
import { type Bar, Bars } from './bar-chart.tsx'

const GOOD = 'var(--mantine-color-teal-6)'
const BAD = 'var(--mantine-color-red-6)'
const OTHER = 'var(--mantine-color-gray-5)'
const PLAIN = 'var(--mantine-color-cyan-7)'

/** Every day of the period, also those on which nothing was. */
function byDay<Row extends { day: string }>(
  days: string[],
  rows: Row[],
  bar: (row: Row | undefined) => Omit<Bar, 'day'>,
): Bar[] {
  const of = new Map(rows.map((row) => [row.day, row]))
  return days.map((day) => {
    const { title, ...rest } = bar(of.get(day))
    return { day, title: `${shortDay(day)}: ${title}`, ...rest }
  })
}

function ordersOf(day: string | undefined, search: Record<string, string> = {}) {
  return day === undefined ? {} : { to: { to: '/orders', search: { from: day, to: day, ...search } } }
}

export function OrderBars({ data }: { data: Dashboard }) {
  const sum = data.orders.reduce((all, row) => all + row.orders, 0)
  return (
    <Card title={`${t.dashboard.orders}: ${count(sum)}`}>
      <Bars
        label={t.dashboard.orders}
        format={count}
        series={[
          { name: t.dashboard.delivered, color: GOOD },
          { name: t.dashboard.failed, color: BAD },
          { name: t.dashboard.open, color: OTHER },
        ]}
        bars={byDay(data.days, data.orders, (row) => {
          const { orders = 0, delivered = 0, failed = 0 } = row ?? {}
          const title = say(t.dashboard.ordersOfDay, { orders: count(orders), delivered, failed })
          return { values: [delivered, failed, orders - delivered - failed], title, ...ordersOf(row?.day) }
        })}
      />
    </Card>
  )
}

export function SalesBars({ data, currency }: { data: Dashboard; currency: string }) {
  const rows = data.sales.filter((row) => row.currencyCode === currency)
  const sum = rows.reduce((all, row) => all + row.amount, 0)
  return (
    <Card title={`${t.dashboard.sales}: ${money(sum, currency)}`}>
      <Bars
        label={`${t.dashboard.sales} ${currency}`}
        format={(amount) => moneyInShort(amount, currency)}
        series={[{ name: t.dashboard.sales, color: PLAIN }]}
        bars={byDay(data.days, rows, (row) => ({
          values: [row?.amount ?? 0],
          title: money(row?.amount ?? 0, currency),
          ...ordersOf(row?.day),
        }))}
      />
    </Card>
  )
}

export function DeliveryTimes({ data }: { data: Dashboard }) {
  return (
    <Card title={t.dashboard.time}>
      <Bars
        label={t.dashboard.time}
        format={milliseconds}
        series={[{ name: t.dashboard.time, color: PLAIN }]}
        bars={byDay(data.days, data.orders, (row) => ({
          values: [row?.p50_ms ?? 0],
          title:
            row?.p50_ms == null
              ? t.dashboard.noData
              : say(t.dashboard.timeOfDay, { median: milliseconds(row.p50_ms), p95: milliseconds(row.p95_ms ?? 0) }),
          ...ordersOf(row?.day, { status: 'DELIVERED' }),
        }))}
      />
    </Card>
  )
}

/** What became of the events of each day; the list behind a bar has exactly those. */
export function WebhookBars({ data }: { data: Dashboard }) {
  const sum = (member: 'delivered' | 'dead' | 'pending') => data.webhooks.reduce((all, row) => all + row[member], 0)
  const delivered = sum('delivered')
  const sent = delivered + sum('dead') + sum('pending')
  const { DELIVERED, DEAD, PENDING, UNSENT } = t.webhooks.states
  return (
    <Card title={t.dashboard.webhooks}>
      {sent > 0 && (
        <Text size="sm" c="dimmed">
          {say(t.dashboard.webhookSuccess, { percent: percent(delivered / sent) })}
        </Text>
      )}
      <Bars
        label={t.dashboard.webhooks}
        format={count}
        series={[
          { name: DELIVERED, color: GOOD },
          { name: DEAD, color: BAD },
          { name: PENDING, color: PLAIN },
          { name: UNSENT, color: OTHER },
        ]}
        bars={byDay(data.days, data.webhooks, (row) => {
          const { delivered = 0, dead = 0, pending = 0, unsent = 0 } = row ?? {}
          const title = say(t.dashboard.eventsOfDay, { delivered, dead, pending, unsent })
          const to = row && { to: { to: '/webhooks', search: { from: row.day, to: row.day } } }
          return { values: [delivered, dead, pending, unsent], title, ...to }
        })}
      />
    </Card>
  )
}

/** How each supplier answered in the period. */
export function SupplierShares({ data }: { data: Dashboard }) {
  return (
    <Card title={t.dashboard.suppliers}>
      {data.suppliers.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.dashboard.noData}
        </Text>
      )}
      {data.suppliers.map((row) => {
        const all = row.delivered + row.refused + row.unknown
        const percent = (part: number) => (all === 0 ? 0 : (part / all) * 100)
        const words = say(t.dashboard.answers, {
          delivered: count(row.delivered),
          refused: count(row.refused),
          unknown: count(row.unknown),
        })
        return (
          <Stack key={row.supplier} gap={4}>
            <Group justify="space-between">
              <Anchor component={Link} to="/suppliers" size="sm">
                {row.supplier}
              </Anchor>
              <Text size="xs" c="dimmed">
                {words}
                {row.p50_ms !== null && ` · ${say(t.dashboard.median, { time: milliseconds(row.p50_ms) })}`}
              </Text>
            </Group>
            <Progress.Root size="lg" aria-hidden="true">
              <Progress.Section value={percent(row.delivered)} color="teal.6" withAria={false} />
              <Progress.Section value={percent(row.refused)} color="red.6" withAria={false} />
              <Progress.Section value={percent(row.unknown)} color="yellow.6" withAria={false} />
            </Progress.Root>
          </Stack>
        )
      })}
    </Card>
  )
}
