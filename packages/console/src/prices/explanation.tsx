import type { PriceExplanation } from '@dealer-esim/gateway/http/console/catalogue-packages.ts'
import { Badge, Stack, Text } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { packagePath } from '#catalogue/catalogue-paths.ts'
import { formatMoney } from '#parts/format.ts'
import { figureColumn } from '#parts/list-columns.tsx'
import { LoadState } from '#parts/load-states.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { ruleText } from './plan-rule-text.ts'

type Step = PriceExplanation['steps'][number]

/** Why a dealer pays its price: every candidate in order of precedence, and the one that decides. */
export function ExplainedPrice(props: { packageCode: string; tenantId: string; at?: Date | undefined }) {
  const { packageCode, tenantId, at } = props
  const isDated = at !== undefined && !Number.isNaN(at.getTime())
  const query = { tenantId, ...(isDated && { at: at.toISOString() }) }
  const { data, error, refetch } = useApi<PriceExplanation>(`${packagePath(packageCode)}/explanation`, query)
  if (!data) return <LoadState error={error} retry={refetch} />
  const { price, cost, currencyCode, steps } = data
  return (
    <Stack gap="xs" data-explanation>
      <Text fw={600}>{price === null ? t.prices.noPrice : formatMoney(price, currencyCode)}</Text>
      <Text size="sm">{costText(price, cost, currencyCode)}</Text>
      <List<Step>
        label={t.prices.steps}
        rows={steps}
        idOf={(row) => `${row.source} ${row.planName ?? ''} ${row.rule ? ruleText(row.rule) : ''}`}
        empty={{ title: t.prices.steps }}
        columns={[
          { accessor: 'source', title: t.prices.source, render: stepText },
          figureColumn('price', t.prices.price, (row) => <Amount value={row.price} currency={currencyCode} />),
          {
            accessor: 'state',
            title: t.prices.result,
            render: ({ state }) =>
              state === 'DECIDES' ? (
                <Badge color="teal" variant="light" tt="none" radius="sm">
                  {t.prices.states.DECIDES}
                </Badge>
              ) : (
                t.prices.states[state]
              ),
          },
        ]}
      />
    </Stack>
  )
}

function stepText({ source, planName, rule }: Step): string {
  const name = t.prices.sources[source]
  return rule ? `${name} ${planName ?? ''}: ${ruleText(rule)}` : name
}

function costText(price: number | null, cost: number | null, currency: string): string {
  if (cost === null) return t.prices.costUnknown
  const shown = formatMoney(cost, currency)
  if (price === null) return formatMessage(t.prices.costOnly, { cost: shown })
  return formatMessage(t.prices.costAndMargin, { cost: shown, margin: formatMoney(price - cost, currency) })
}
