import type { RulePreview } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Alert, Stack, Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { formatMargin } from '#catalogue/price-rows.tsx'
import { formatCount, formatTime } from '#parts/format.ts'
import { figureColumn } from '#parts/list-columns.tsx'
import { ErrorText } from '#parts/load-states.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount, Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

type Line = RulePreview['lines'][number]

/** The effect of a rule: counts, then old and new prices with their margins. */
export function ShownPreview({ preview }: { preview: RulePreview }) {
  const { at, currencyCode, dealers, packages, changed, cheaper, dearer, belowCost, lines } = preview
  const { unknownCosts, otherDealers } = preview
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
          rows={lines}
          idOf={(row) => row.packageCode}
          empty={{ title: t.prices.preview }}
          columns={[
            { accessor: 'packageCode', title: t.prices.package, cellsClassName: 'mono' },
            figureColumn('before', t.prices.priceBefore, (row) => (
              <Amount value={row.before} currency={currencyCode} />
            )),
            figureColumn('after', t.prices.priceAfter, (row) => <Amount value={row.after} currency={currencyCode} />),
            figureColumn('margin', t.package.marginTitle, (row) => marginText(row, currencyCode)),
          ]}
        />
      )}
      {lines.length < changed && <Hint>{formatMessage(t.prices.firstOf, { count: lines.length, all: changed })}</Hint>}
    </Stack>
  )
}

function marginText({ after, cost }: Line, currency: string): string {
  if (after === null) return '–'
  return cost === null ? t.package.unknown : formatMargin(after, cost, currency)
}
