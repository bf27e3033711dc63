import type { SalesFigures } from '@dealer-esim/gateway/http/console/sales.ts'
import { Anchor, Paper, SimpleGrid, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { formatCount } from '#parts/format.ts'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'
import { Change, Margin, Sum } from './margin.tsx'

/** Shows what was sold, earned and paid in one currency, each compared with the previous period if something was sold in it. */
export function SalesTotals(props: {
  total: SalesFigures
  /** The list behind the figures. */
  to?: { to: string; search: Record<string, string> }
}) {
  const { total, to } = props
  const { currencyCode: currency, previous } = total
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} data-totals={currency}>
      <Figure name={t.sales.sold} now={total.items} before={previous.items} to={to}>
        {formatCount(total.items)}
      </Figure>
      <Figure name={t.sales.revenue} now={total.revenue} before={previous.revenue} to={to}>
        <Sum value={total.revenue} currency={currency} />
      </Figure>
      <Figure name={t.sales.cost} now={total.cost} before={previous.cost} to={to}>
        <Sum value={total.cost} currency={currency} />
      </Figure>
      <Figure name={t.sales.margin} now={total.margin} before={previous.margin} to={to}>
        <Margin {...total} currency={currency} />
      </Figure>
    </SimpleGrid>
  )
}

function Figure(props: {
  name: string
  now: number | null
  before: number | null
  to: { to: string; search: Record<string, string> } | undefined
  children: ReactNode
}) {
  const { name, now, before, to, children } = props
  const value = (
    <Text component="div" fw={650} fz="xl" lh={1.2}>
      {children}
    </Text>
  )
  return (
    <Paper withBorder p="sm">
      <Hint size="xs">{name}</Hint>
      {to ? (
        <Anchor component={Link} to={to.to} search={to.search as never} c="inherit">
          {value}
        </Anchor>
      ) : (
        value
      )}
      {now !== null && before !== null && before > 0 && (
        <Text size="xs" c="dimmed" component="div">
          <Change now={now} before={before} /> {t.sales.before}
        </Text>
      )}
    </Paper>
  )
}
