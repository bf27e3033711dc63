import type { Dashboard } from '@dealer-esim/gateway/console-api/dashboard.ts'
import { Anchor, Group, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { count, milliseconds } from '../format.ts'
import { Card } from '../parts/card.tsx'
import { say, t } from '../strings/index.ts'

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
