import type { Dashboard } from '@dealer-esim/gateway/console-api/dashboard.ts'
import { Group, Paper, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { count } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { type Forms, formOf, t } from '../strings/strings.ts'

type Kind = keyof Dashboard['attention']

/** What waits for a person, each with the list behind it. */
export function AttentionCard({ attention }: { attention: Dashboard['attention'] }) {
  const me = useSession()
  const own = `/tenants/${me.tenant?.tenantId}`
  const places: Record<Kind, { to: string; search?: Record<string, string> }> = {
    underReview: { to: '/orders', search: { status: 'UNDER_REVIEW' } },
    deadEvents: { to: '/webhooks', search: { state: 'DEAD' } },
    lowBalances: isOperator(me) ? { to: '/tenants' } : { to: `${own}/wallet` },
    failingEndpoints: { to: isOperator(me) ? '/notices' : '/webhooks' },
    lowStock: { to: '/stock' },
    orphans: { to: '/notices' },
    adjustments: { to: '/adjustments' },
  }
  const waiting = (Object.keys(places) as Kind[]).filter((kind) => attention[kind] > 0)
  return (
    <Card title={t.dashboard.attention}>
      {waiting.length === 0 && (
        <Group gap="xs">
          <IconCheck size={18} aria-hidden="true" />
          <Text size="sm">{t.dashboard.nothing}</Text>
        </Group>
      )}
      <Group>
        {waiting.map((kind) => (
          <Paper
            key={kind}
            component={Link}
            to={places[kind].to}
            search={(places[kind].search ?? {}) as never}
            withBorder
            px="md"
            py="xs"
            className="attention"
            data-attention={kind}
          >
            <Waiting count={attention[kind]} forms={t.dashboard.attentionKinds[kind]} />
          </Paper>
        ))}
      </Group>
    </Card>
  )
}

function Waiting({ count: waiting, forms }: { count: number; forms: Forms }) {
  const [before, after] = formOf(forms, waiting).split('{count}')
  return (
    <Text span size="sm">
      {before}
      <Text span fw={700} fz="lg">
        {count(waiting)}
      </Text>
      {after}
    </Text>
  )
}
