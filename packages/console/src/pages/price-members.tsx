import { Anchor, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Card } from '../parts/card.tsx'
import { say, t } from '../strings/index.ts'

interface Members {
  tenantCount: number
  tenants: { tenantId: string; clientName: string }[]
}

/** Dealers that have a plan or are in a group, each a link to its prices. */
export function PriceMembers({ of, nobody }: { of: Members; nobody: string }) {
  const { tenants, tenantCount } = of
  return (
    <Card title={t.prices.dealers}>
      {tenants.length === 0 && <Text size="sm">{nobody}</Text>}
      {tenants.map((tenant) => (
        <Anchor key={tenant.tenantId} component={Link} to={`/tenants/${tenant.tenantId}/prices`} size="sm">
          {tenant.clientName}
        </Anchor>
      ))}
      {tenants.length < tenantCount && (
        <Text size="sm" c="dimmed">
          {say(t.prices.first, { count: tenants.length, all: tenantCount })}
        </Text>
      )}
    </Card>
  )
}
