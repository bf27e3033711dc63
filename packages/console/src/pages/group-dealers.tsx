import type { GroupDetail } from '@dealer-esim/gateway/console-api/price-groups.ts'
import { Anchor, Button, CloseButton, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { TenantSelect } from '../parts/tenant-filter.tsx'
import { operates, useSession } from '../session.tsx'
import { say, t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'

const groupOf = (tenantId: string, groupName: string | null) =>
  ({ method: 'PUT', path: `/tenants/${tenantId}/price-group`, body: { groupName } }) as const

/** The dealers of a price group, put in and taken out. */
export function GroupDealers({ group }: { group: GroupDetail }) {
  const me = useSession()
  const [adding, setAdding] = useState(false)
  const remove = useChange({ done: t.prices.holds })
  const { tenants, tenantCount } = group
  return (
    <Card
      title={t.prices.dealers}
      actions={
        operates(me) && (
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            {t.prices.addDealer}
          </Button>
        )
      }
    >
      {tenants.length === 0 && <Text size="sm">{t.prices.emptyGroup}</Text>}
      {tenants.map(({ tenantId, clientName }) => (
        <Group key={tenantId} gap="xs">
          <Anchor component={Link} to={`/tenants/${tenantId}/prices`} size="sm">
            {clientName}
          </Anchor>
          {operates(me) && (
            <CloseButton
              size="sm"
              aria-label={say(t.prices.removeDealer, { name: clientName })}
              disabled={remove.isPending}
              onClick={() => remove.mutate(groupOf(tenantId, null))}
            />
          )}
        </Group>
      ))}
      {tenants.length < tenantCount && (
        <Text size="sm" c="dimmed">
          {say(t.prices.first, { count: tenants.length, all: tenantCount })}
        </Text>
      )}
      {adding && <AddDealer groupName={group.groupName} onClose={() => setAdding(false)} />}
    </Card>
  )
}

function AddDealer({ groupName, onClose }: { groupName: string; onClose(): void }) {
  const [tenantId, setTenantId] = useState<string>()
  const add = useChange({ done: t.prices.holds, quiet: true })
  return (
    <Dialog
      title={`${t.prices.addDealer}: ${groupName}`}
      opened
      onClose={onClose}
      submit={t.prices.addDealer}
      busy={add.isPending}
      error={add.error}
      onSubmit={() => tenantId && add.mutate(groupOf(tenantId, groupName), { onSuccess: onClose })}
    >
      <Text size="sm">{t.prices.addDealerText}</Text>
      <TenantSelect value={tenantId} onChange={(chosen) => setTenantId(chosen ?? undefined)} />
    </Dialog>
  )
}
