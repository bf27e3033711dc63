import type { EndpointFiguresView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { NativeSelect, SimpleGrid } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { BarChart } from '#home/bar-chart.tsx'
import { formatCount, formatDuration, formatPercent, formatTime } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

const REFRESH_MS = 30_000
const GREEN = 'var(--chart-ok)'
const RED = 'var(--chart-bad)'
const CYAN = 'var(--chart)'

/** The delivery attempts to a dealer's endpoint, and its response times. */
export function EndpointFigures({ tenantId }: { tenantId: string }) {
  const [period, setPeriod] = useState('DAY')
  const path = `/tenants/${tenantId}/endpoint/figures`
  const { data } = useApi<EndpointFiguresView>(path, { period }, { refreshMs: REFRESH_MS })
  if (!data) return null
  const acknowledged = data.parts.reduce((sum, part) => sum + part.acknowledged, 0)
  const all = data.parts.reduce((sum, part) => sum + part.acknowledged + part.failed, 0)
  return (
    <Card
      title={t.endpoint.figures}
      actions={
        <NativeSelect
          aria-label={t.endpoint.period}
          size="xs"
          value={period}
          data={Object.entries(t.endpoint.periods).map(([value, label]) => ({ value, label }))}
          onChange={(event) => setPeriod(event.currentTarget.value)}
        />
      }
    >
      {all === 0 ? (
        <Hint>{t.endpoint.noAttempts}</Hint>
      ) : (
        <>
          <Hint>
            {formatMessage(t.endpoint.success, { percent: formatPercent(acknowledged / all), count: formatCount(all) })}
            {data.isSample && ` ${t.endpoint.sample}`}
          </Hint>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <AttemptsChart parts={data.parts} />
            <ResponseTimeChart parts={data.parts} />
          </SimpleGrid>
        </>
      )}
    </Card>
  )
}

type Parts = EndpointFiguresView['parts']

function AttemptsChart({ parts }: { parts: Parts }) {
  return (
    <BarChart
      label={t.endpoint.attempts}
      format={formatCount}
      series={[
        { name: t.webhooks.acknowledged, color: GREEN },
        { name: t.endpoint.failed, color: RED },
      ]}
      bars={parts.map(({ from, acknowledged, failed }) => ({
        day: from,
        label: formatTime(from),
        values: [acknowledged, failed],
        title: `${formatTime(from)}: ${formatMessage(t.endpoint.attemptsTooltip, { acknowledged, failed })}`,
      }))}
    />
  )
}

function ResponseTimeChart({ parts }: { parts: Parts }) {
  return (
    <BarChart
      label={t.endpoint.responseTime}
      format={formatDuration}
      series={[
        { name: t.endpoint.median, color: CYAN },
        { name: t.endpoint.p95, color: 'var(--chart-2)' },
      ]}
      bars={parts.map(({ from, p50_ms, p95_ms }) => ({
        day: from,
        label: formatTime(from),
        values: [p50_ms ?? 0, (p95_ms ?? 0) - (p50_ms ?? 0)],
        title: `${formatTime(from)}: ${responseTimeText(p50_ms, p95_ms)}`,
      }))}
    />
  )
}

function responseTimeText(p50: number | null, p95: number | null): string {
  if (p50 === null) return t.dashboard.noData
  const times = { median: formatDuration(p50), p95: formatDuration(p95 ?? 0) }
  return formatMessage(t.dashboard.deliveryTimeTooltip, times)
}
