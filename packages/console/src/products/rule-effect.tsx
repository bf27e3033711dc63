import type { SaleRuleEffect } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { Group, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ApiError, call } from '#api/call-api.ts'
import { PackageName } from '#catalogue/package-name.tsx'
import { locationOf } from '#catalogue/package-title.ts'
import { formatMoney, formatPercent } from '#parts/format.ts'
import { Amount, Hint, TextLink } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { PRODUCTS } from './product-paths.ts'

/** How long after the last key press the effect of the typed rule is requested. */
const TYPING_MS = 400
/** Stands for a rule that has no name yet. */
const NEW_NAME = 'new'

/** What the rule would sell as currently typed: the number of packages, the lowest price, the margins, and examples. */
export function RuleEffect({ ruleName = NEW_NAME, rule }: { ruleName?: string | undefined; rule: object }) {
  const [settled] = useDebouncedValue(rule, TYPING_MS)
  const { data: effect, error } = useQuery<SaleRuleEffect, ApiError>({
    queryKey: ['/sale-rules/effect', ruleName, settled],
    queryFn: ({ signal }) =>
      call<SaleRuleEffect>('POST', '/sale-rules/effect', { body: { ruleName, rule: settled }, signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <div role="status" aria-live="polite">
      {error && <Hint>{error.message}</Hint>}
      {effect && !error && <EffectFigures effect={effect} />}
    </div>
  )
}

function EffectFigures({ effect }: { effect: SaleRuleEffect }) {
  const texts = t.saleRules.effect
  const { currencyCode, packages, lowestPrice, lowestMargin, highestMargin, medianMargin, examples } = effect
  if (lowestPrice === null)
    return (
      <Stack gap="xs">
        <Text size="sm">{texts.nothing}</Text>
        <Hint>{texts.nothingText}</Hint>
        <TextLink to={PRODUCTS}>{texts.readCatalogue}</TextLink>
      </Stack>
    )
  const percent = (value: number | null) => formatPercent((value ?? 0) / 100)
  return (
    <Stack gap="md">
      <Text fw={600}>
        {formatMessage(texts.summary, {
          count: packages,
          price: formatMoney(lowestPrice, currencyCode),
          lowest: percent(lowestMargin),
          highest: percent(highestMargin),
        })}
      </Text>
      <Hint>{formatMessage(texts.median, { margin: percent(medianMargin) })}</Hint>
      {examples.map(({ name, locationCodes, cost, price, margin }) => (
        <div key={`${name} ${price}`}>
          <PackageName name={name} location={locationOf(locationCodes)} more={locationCodes.length - 1} />
          <Group gap="xs" justify="space-between">
            <Text size="sm" fw={600}>
              <Amount value={price} currency={currencyCode} />
            </Text>
            <Hint>
              {formatMessage(texts.example, { cost: formatMoney(cost, currencyCode), margin: percent(margin) })}
            </Hint>
          </Group>
        </div>
      ))}
    </Stack>
  )
}
