import { Anchor, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Card } from '../parts/card.tsx'
import { say, t } from '../strings/index.ts'

interface Member {
  tenantId: string
  clientName: string
}

interface PriceMembersProps {
  of: { tenantCount: number; tenants: Member[] }
  /** Said where there is none. */
  nobody: string
  actions?: ReactNode
  /** What stands beside each, such as what takes it out. */
  beside?(member: Member): ReactNode
}

/** Dealers that have a plan or are in a group, each a link to its prices. */
export function PriceMembers({ of: { tenants, tenantCount }, nobody, actions, beside }: PriceMembersProps) {
  return (
    <Card title={t.prices.dealers} actions={actions}>
      {tenants.length === 0 && <Text size="sm">{nobody}</Text>}
      {tenants.map((tenant) => (
        <Group key={tenant.tenantId} gap="xs">
          <Anchor component={Link} to={`/tenants/${tenant.tenantId}/prices`} size="sm">
            {tenant.clientName}
          </Anchor>
          {beside?.(tenant)}
        </Group>
      ))}
      {tenants.length < tenantCount && (
        <Text size="sm" c="dimmed">
          {say(t.prices.first, { count: tenants.length, all: tenantCount })}
        </Text>
      )}
    </Card>
  )
}
