import type { PriceAssignment as Assignment } from '@dealer-esim/gateway/console-api/tenant-prices.ts'
import { Anchor, Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Failure } from '../parts/failure.tsx'
import { groupPath, planPath } from '../price-paths.ts'
import { operates, useSession } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useApi, useChange } from '../use-api.ts'
import { GroupField, PlanField } from './price-select.tsx'

/** Which plan and which group a dealer has. */
export function PriceAssignment({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const { data, error, refetch } = useApi<Assignment>(`/tenants/${tenantId}/price-assignment`)
  const [open, setOpen] = useState<'plan' | 'group'>()
  if (error && !data) return <Failure error={error} retry={refetch} />
  if (!data) return null
  return (
    <Card
      title={t.prices.assignment}
      actions={
        operates(me) && (
          <>
            <Button size="xs" variant="default" onClick={() => setOpen('plan')}>
              {t.prices.changePlan}
            </Button>
            <Button size="xs" variant="default" onClick={() => setOpen('group')}>
              {t.prices.changeGroup}
            </Button>
          </>
        )
      }
    >
      <Facts
        of={[
          [t.prices.ownPlan, <Named key="p" name={data.planName} path={planPath} />],
          [t.prices.group, <Named key="g" name={data.groupName} path={groupPath} />],
          [t.prices.groupPlan, <Named key="gp" name={data.groupPlanName} path={planPath} />],
        ]}
      />
      {open && <Assign tenantId={tenantId} what={open} now={data} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

function Named({ name, path }: { name: string | null; path(name: string): string }) {
  if (name === null) return <>{t.prices.none}</>
  return (
    <Anchor component={Link} to={path(name)} size="sm">
      {name}
    </Anchor>
  )
}

function Assign(props: { tenantId: string; what: 'plan' | 'group'; now: Assignment; onClose(): void }) {
  const { tenantId, what, now, onClose } = props
  const assign = useChange({ done: t.prices.holds, quiet: true })
  return (
    <Dialog
      title={what === 'plan' ? t.prices.changePlan : t.prices.changeGroup}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={assign.isPending}
      error={assign.error}
      onSubmit={({ planName = null, groupName = null }) =>
        assign.mutate(
          {
            method: 'PUT',
            path: `/tenants/${tenantId}/price-${what}`,
            body: what === 'plan' ? { planName } : { groupName },
          },
          { onSuccess: onClose },
        )
      }
    >
      {what === 'plan' ? <PlanField chosen={now.planName} /> : <GroupField chosen={now.groupName} />}
    </Dialog>
  )
}
