import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import { Group, Paper, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Card } from '#parts/page.tsx'
import { formatRich, t } from '#strings/strings.ts'
import { SUPPLIERS } from '#suppliers/supplier-paths.ts'

type Kind = keyof Dashboard['attention']

/** Everything that needs an operator's attention, each linked to its list. */
export function AttentionCard({ attention }: { attention: Dashboard['attention'] }) {
  const links: Record<Kind, { to: string; search?: Record<string, string> }> = {
    recoveries: { to: '/recovery' },
    failingSuppliers: { to: SUPPLIERS },
    lateOrders: { to: '/orders', search: { waiting: 'LATE' } },
    underReview: { to: '/orders', search: { status: 'UNDER_REVIEW' } },
    deadEvents: { to: '/webhooks', search: { state: 'DEAD' } },
    lowBalances: { to: '/sales', search: { by: 'balances' } },
    failingEndpoints: { to: '/notices' },
    lowStock: { to: '/stock' },
    orphans: { to: '/notices' },
    adjustments: { to: '/adjustments', search: { status: 'PROPOSED' } },
    topUpRequests: { to: '/top-up-requests', search: { status: 'REQUESTED' } },
  }
  const kinds = (Object.keys(links) as Kind[]).filter((kind) => attention[kind] > 0)
  return (
    <Card title={t.dashboard.attention}>
      {kinds.length === 0 && (
        <Group gap="xs">
          <IconCheck size={18} aria-hidden="true" />
          <Text size="sm">{t.dashboard.nothingToDo}</Text>
        </Group>
      )}
      <Group>
        {kinds.map((kind) => (
          <Paper
            key={kind}
            component={Link}
            to={links[kind].to}
            search={(links[kind].search ?? {}) as never}
            withBorder
            px="md"
            py="xs"
            className="attention"
            data-attention={kind}
          >
            <KindCount count={attention[kind]} text={t.dashboard.attentionKinds[kind]} />
          </Paper>
        ))}
      </Group>
    </Card>
  )
}

function KindCount({ count, text }: { count: number; text: string }) {
  const bold = (number: ReactNode) => (
    <Text span fw={700} fz="lg">
      {number}
    </Text>
  )
  return (
    <Text span size="sm">
      {formatRich(text, { count, b: bold })}
    </Text>
  )
}
