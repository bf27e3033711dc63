import type { SupplierFigures as Figures } from '@dealer-esim/gateway/http/console/suppliers/supplier-figures.ts'
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { formatCount, formatDuration, formatMoney, formatPercent } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Facts, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { supplierPage } from './supplier-paths.ts'

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
      {data.costs.map((cost) => (
        <Costs key={cost.currencyCode} cost={cost} />
      ))}
      {data.priceDifferences.length > 0 && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            {t.suppliers.priceDifferences}
          </Text>
          {data.priceDifferences.map(({ packageCode, productCode, price, cost, currencyCode, seenAt }) => (
            <Text size="sm" key={packageCode} className="break" component="div">
              {formatMessage(t.suppliers.priceDifference, {
                package: packageCode,
                product: productCode,
                price: formatMoney(price, currencyCode),
                cost: formatMoney(cost, currencyCode),
              })}{' '}
              · <Timestamp time={seenAt} />
            </Text>
          ))}
        </Stack>
      )}
      {data.errors.length > 0 && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            {t.suppliers.lastErrors}
          </Text>
          {foldErrors(data.errors).map(({ time, tenantId, orderNo, outcome, message, count }) => (
            <Text size="sm" key={`${orderNo} ${time}`} className="break" component="div">
              <Timestamp time={time} /> ·{' '}
              <Anchor component={Link} to={`/tenants/${tenantId}/orders/${orderNo}`} search={{} as never} size="sm">
                {orderNo}
              </Anchor>{' '}
              · {outcome}: {message ?? '–'}{' '}
              {count > 1 && <Text span size="xs" c="dimmed" data-repeats={count}>{`× ${count}`}</Text>}
            </Text>
          ))}
        </Stack>
      )}
    </Card>
  )
}

/**
 * Repeated errors of an order, such as those of polls, are shown as one line with the latest time. The most recent come
 * first.
 */
function foldErrors(errors: Figures['errors']): (Figures['errors'][number] & { count: number })[] {
  const folded: (Figures['errors'][number] & { count: number })[] = []
  for (const error of errors) {
    const same = folded.find(
      ({ orderNo, outcome, message }) =>
        orderNo === error.orderNo && outcome === error.outcome && message === error.message,
    )
    if (same) same.count++
    else folded.push({ ...error, count: 1 })
  }
  return folded
}

/** The cost of the last 24 hours' deliveries, compared with the catalogue. */
function Costs({ cost }: { cost: Figures['costs'][number] }) {
  const { currencyCode, delivered, spent, stated, charged, expected } = cost
  const money = (amount: number) => formatMoney(amount, currencyCode)
  const difference = charged - expected
  // Only if the supplier reports its charges.
  const comparison: [string, string][] = [
    [t.suppliers.charged, money(charged)],
    [t.suppliers.expected, money(expected)],
    [t.suppliers.difference, `${difference > 0 ? '+' : ''}${money(difference)}`],
  ]
  return (
    <Facts
      items={[
        [t.suppliers.spent, money(spent)],
        [t.suppliers.deliveries, formatCount(delivered)],
        ...(stated === 0 ? [] : comparison),
      ]}
    />
  )
}
