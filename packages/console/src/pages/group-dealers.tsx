import type { GroupDetail } from '@dealer-esim/gateway/console-api/price-groups.ts'
import { Button, CloseButton, Text } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { TenantSelect } from '../parts/tenant-filter.tsx'
import { operates, useSession } from '../session.tsx'
import { say, t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'
import { PriceMembers } from './price-members.tsx'

const groupOf = (tenantId: string, groupName: string | null) =>
  ({ method: 'PUT', path: `/tenants/${tenantId}/price-group`, body: { groupName } }) as const

/** The dealers of a price group, put in and taken out by who may. */
export function GroupDealers({ group }: { group: GroupDetail }) {
  const me = useSession()
  const [adding, setAdding] = useState(false)
  const remove = useChange({ done: t.prices.holds })
  if (!operates(me)) return <PriceMembers of={group} nobody={t.prices.emptyGroup} />
  return (
    <>
      <PriceMembers
        of={group}
        nobody={t.prices.emptyGroup}
        actions={
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            {t.prices.addDealer}
          </Button>
        }
        beside={({ tenantId, clientName }) => (
          <CloseButton
            size="sm"
            aria-label={say(t.prices.removeDealer, { name: clientName })}
            disabled={remove.isPending}
            onClick={() => remove.mutate(groupOf(tenantId, null))}
          />
        )}
      />
      {adding && <AddDealer groupName={group.groupName} onClose={() => setAdding(false)} />}
    </>
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
