import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import { Box, Button, Group, SimpleGrid, Text } from '@mantine/core'
import { IconCheck, IconChevronRight } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { Card } from '#parts/page.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { SUPPLIERS } from '#suppliers/supplier-paths.ts'

type Kind = keyof Dashboard['attention']

/** What has failed, and does not only wait for a decision. */
const FAILURES: readonly Kind[] = ['recoveries', 'failingSuppliers', 'deadEvents', 'failingEndpoints']

/** Everything that needs an operator's attention, each linked to its list, failures first. */
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
  const waiting = (Object.keys(links) as Kind[]).filter((kind) => attention[kind] > 0)
  const kinds = [...new Set([...FAILURES.filter((kind) => waiting.includes(kind)), ...waiting])]
  return (
    <Card title={t.dashboard.attention}>
      {kinds.length === 0 && (
        <Group gap="xs">
          <IconCheck size={18} aria-hidden="true" />
          <Text size="sm">{t.dashboard.nothingToDo}</Text>
        </Group>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} verticalSpacing={0} mx="calc(var(--space-8) * -1)">
        {kinds.map((kind) => (
          <Button
            key={kind}
            component={Link}
            to={links[kind].to}
            search={(links[kind].search ?? {}) as never}
            variant="subtle"
            color="gray"
            c="var(--ink)"
            h={{ base: 44, sm: 40 }}
            px="var(--space-8)"
            justify="space-between"
            rightSection={<IconChevronRight size={16} aria-hidden="true" />}
            data-attention={kind}
          >
            <Dot color={FAILURES.includes(kind) ? 'var(--bad)' : 'var(--warn)'} />
            {formatMessage(t.dashboard.attentionKinds[kind], { count: attention[kind] })}
          </Button>
        ))}
      </SimpleGrid>
    </Card>
  )
}

function Dot({ color }: { color: string }) {
  return (
    <Box component="svg" w={8} h={8} mr="xs" aria-hidden="true">
      <circle cx="4" cy="4" r="4" fill={color} />
    </Box>
  )
}
