import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import { Anchor, Group, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { formatCount, formatDuration } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Amount, Facts, Hint, TextLink } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { supplierPage } from '#suppliers/supplier-paths.ts'
import { CountedDays } from './charts.tsx'

/** Outcomes per supplier in the period. */
export function SupplierOutcomes({ data }: { data: Dashboard }) {
  return (
    <Card title={t.dashboard.suppliers}>
      <CountedDays data={data} />
      {data.suppliers.length === 0 && <Hint>{t.dashboard.noData}</Hint>}
      {data.suppliers.map((row) => {
        const all = row.delivered + row.refused + row.unknown
        const percent = (part: number) => (all === 0 ? 0 : (part / all) * 100)
        const summary = formatMessage(t.dashboard.supplierOutcomes, {
          delivered: formatCount(row.delivered),
          refused: formatCount(row.refused),
          unknown: formatCount(row.unknown),
        })
        return (
          <Stack key={row.supplier} gap={4}>
            <Group justify="space-between">
              <TextLink to={supplierPage(row.supplier)}>{row.supplier}</TextLink>
              <Hint size="xs">
                {summary}
                {row.p50_ms !== null && ` · ${formatMessage(t.dashboard.median, { time: formatDuration(row.p50_ms) })}`}
              </Hint>
            </Group>
            <Progress.Root size="lg" aria-hidden="true">
              <Progress.Section value={percent(row.delivered)} color="var(--chart-ok)" withAria={false} />
              <Progress.Section value={percent(row.refused)} color="var(--chart-bad)" withAria={false} />
              <Progress.Section value={percent(row.unknown)} color="var(--chart-warn)" withAria={false} />
            </Progress.Root>
          </Stack>
        )
      })}
    </Card>
  )
}

/** The sum of all dealers' balances, per currency, each linked to the balances of the dealers. */
export function Balances({ data }: { data: Dashboard }) {
  return (
    <Card title={t.dashboard.balances}>
      {data.balances.length === 0 && <Text size="sm">{t.dashboard.noData}</Text>}
      <Facts
        cols={2}
        items={data.balances.map((row) => [
          `${row.currencyCode}, ${formatMessage(t.dashboard.dealers, { count: row.tenants })}`,
          <Anchor
            key={row.currencyCode}
            component={Link}
            to="/sales"
            search={{ by: 'balances' } as never}
            {...{ fw: 650, fz: 'xl', c: 'inherit', td: 'none' }}
          >
            <Amount value={row.balance} currency={row.currencyCode} />
          </Anchor>,
        ])}
      />
    </Card>
  )
}
