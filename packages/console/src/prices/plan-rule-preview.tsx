import type { RulePreview } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Alert, Stack, Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { PackageName } from '#catalogue/package-name.tsx'
import { formatCount, formatPercent, formatTime } from '#parts/format.ts'
import { figureColumn, valueColumn } from '#parts/list-columns.tsx'
import { ErrorText } from '#parts/load-states.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount, Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

type Line = RulePreview['lines'][number]

/** The losses come first: more rows would only move the button out of sight. */
const ROWS_MAX = 10

/** The label of the button that carries out what was previewed. A loss is its consequence. */
export function submitProps(action: string, preview: RulePreview | undefined): { submit: string; danger: boolean } {
  if (!preview || preview.belowCost === 0) return { submit: action, danger: false }
  const count = formatCount(preview.belowCost)
  return { submit: formatMessage(t.prices.actionBelowCost, { action, count }), danger: true }
}

/** The effect of a rule: counts, then old and new prices with their margins. */
export function ShownPreview({ preview }: { preview: RulePreview }) {
  const { at, currencyCode, dealers, packages, changed, cheaper, dearer, belowCost, lines } = preview
  const { unknownCosts, otherDealers } = preview
  const rows = lines.slice(0, ROWS_MAX)
  const currency = () => currencyCode
  const shown = useRef<HTMLDivElement>(null)
  // It is below the form, where a long dialog does not show it.
  useEffect(() => {
    shown.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const counts = { changed: formatCount(changed), packages: formatCount(packages), time: formatTime(at) }
  return (
    <Stack gap="xs" data-preview ref={shown}>
      <Text size="sm" role="status">
        {formatMessage(t.prices.previewCounts, counts)}{' '}
        {formatMessage(t.prices.previewDirections, { cheaper: formatCount(cheaper), dearer: formatCount(dearer) })}{' '}
        {formatMessage(t.prices.previewDealers, { count: dealers, currency: currencyCode })}
      </Text>
      {belowCost > 0 && <ErrorText>{formatMessage(t.prices.previewLosses, { count: belowCost })}</ErrorText>}
      {unknownCosts > 0 && (
        <Alert color="orange" data-unknown-costs>
          {formatMessage(t.prices.previewUnknownCosts, { count: unknownCosts, currency: currencyCode })}
        </Alert>
      )}
      {otherDealers > 0 && (
        <Alert color="orange" data-other-dealers>
          {formatMessage(t.prices.previewOtherDealers, { count: otherDealers })}
        </Alert>
      )}
      {lines.length > 0 && (
        <List<Line>
          label={t.prices.preview}
          rows={rows}
          idOf={(row) => row.packageCode}
          empty={{ title: t.prices.preview }}
          columns={[
            valueColumn('packageCode', t.prices.package, packageOf, { wraps: true, phone: 'main', width: 330 }),
            figureColumn(
              'before',
              t.prices.priceBefore,
              (row) => <Amount value={row.before} currency={currencyCode} />,
              { currency, phone: 'note', isNamed: true, width: 100 },
            ),
            figureColumn('after', t.prices.priceAfter, (row) => <Amount value={row.after} currency={currencyCode} />, {
              currency,
              phone: 'value',
              width: 100,
            }),
            figureColumn('margin', t.package.marginTitle, (row) => marginOf(row, currencyCode), {
              currency,
              phone: 'status',
              isNamed: true,
              width: 110,
            }),
            figureColumn('share', '%', shareOf, { width: 75 }),
          ]}
        />
      )}
      {rows.length < changed && (
        <Hint>{formatMessage(t.prices.previewMore, { count: formatCount(changed - rows.length) })}</Hint>
      )}
    </Stack>
  )
}

function packageOf({ name, packageCode }: Line) {
  return (
    <div className="list-lines">
      <PackageName name={name} location={null} />
      <Text size="xs" c="dimmed">
        {packageCode}
      </Text>
    </div>
  )
}

function marginOf({ after, cost }: Line, currency: string) {
  if (after === null) return '–'
  return cost === null ? t.package.unknown : <Amount value={after - cost} currency={currency} />
}

function shareOf({ after, cost }: Line) {
  if (!after || cost === null) return '–'
  return <span data-negative={after < cost || undefined}>{formatPercent((after - cost) / after)}</span>
}
