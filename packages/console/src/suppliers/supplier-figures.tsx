import type { SupplierFigures as Figures } from '@dealer-esim/gateway/console-api/routes/catalogue/supplier-figures.ts'
import { Stack, Text } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { formatCount, formatDuration, formatPercent } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Facts, Timestamp } from '../parts/values.tsx'
import { t } from '../strings/strings.ts'
import { supplierPage } from './paths.ts'

const REFRESH_MS = 30_000

/** How purchases at a supplier went in the last 24 hours. */
export function SupplierFigures({ supplier }: { supplier: string }) {
  const { data } = useApi<Figures>(`${supplierPage(supplier)}/figures`, {}, { refreshMs: REFRESH_MS })
  if (!data) return null
  const all = data.succeeded + data.refused + data.retried + data.unknown
  return (
    <Card title={t.suppliers.figures}>
      <Facts
        items={[
          [t.suppliers.purchases, formatCount(all)],
          [t.suppliers.succeeded, all === 0 ? null : formatPercent(data.succeeded / all)],
          [t.suppliers.refused, formatCount(data.refused)],
          [t.suppliers.retriedOrUnknown, formatCount(data.retried + data.unknown)],
          [t.suppliers.medianTime, data.p50_ms === null ? null : formatDuration(data.p50_ms)],
          [t.suppliers.p95Time, data.p95_ms === null ? null : formatDuration(data.p95_ms)],
        ]}
      />
      {data.errors.length > 0 && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            {t.suppliers.lastErrors}
          </Text>
          {data.errors.map(({ time, orderNo, outcome, message }) => (
            <Text size="sm" key={`${orderNo} ${time}`} className="break" component="div">
              <Timestamp time={time} /> · {orderNo} · {outcome}: {message ?? '–'}
            </Text>
          ))}
        </Stack>
      )}
    </Card>
  )
}
