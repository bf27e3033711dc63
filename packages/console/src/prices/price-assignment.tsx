import type { GroupRow } from '@dealer-esim/gateway/http/console/prices/price-groups.ts'
import type { PlanRow } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import type { PriceAssignment as Assignment } from '@dealer-esim/gateway/http/console/prices/tenant-prices.ts'
import { Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { LoadError } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Facts, TextLink } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { groupPath, planPath } from './price-paths.ts'

/** The plan and group of a dealer. */
export function PriceAssignment({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const { data, error, refetch } = useApi<Assignment>(`/tenants/${tenantId}/price-assignment`)
  const [open, setOpen] = useState<'plan' | 'group'>()
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data) return null
  return (
    <Card
      title={t.prices.assignment}
      actions={
        canOperate(me) && (
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
        items={[
          [t.prices.ownPlan, <NameLink key="p" name={data.planName} path={planPath} />],
          [t.prices.group, <NameLink key="g" name={data.groupName} path={groupPath} />],
          [t.prices.groupPlan, <NameLink key="gp" name={data.groupPlanName} path={planPath} />],
        ]}
      />
      {open && <Assign tenantId={tenantId} what={open} now={data} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

function NameLink({ name, path }: { name: string | null; path(name: string): string }) {
  if (name === null) return <>{t.prices.none}</>
  return <TextLink to={path(name)}>{name}</TextLink>
}

function Assign(props: { tenantId: string; what: 'plan' | 'group'; now: Assignment; onClose(): void }) {
  const { tenantId, what, now, onClose } = props
  return (
    <ChangeDialog
      title={what === 'plan' ? t.prices.changePlan : t.prices.changeGroup}
      onClose={onClose}
      submit={t.common.save}
      success={t.prices.saved}
      request={({ planName = null, groupName = null }) => ({
        method: 'PUT',
        path: `/tenants/${tenantId}/price-${what}`,
        body: what === 'plan' ? { planName } : { groupName },
      })}
    >
      {what === 'plan' ? <PlanField chosen={now.planName} /> : <GroupField chosen={now.groupName} />}
    </ChangeDialog>
  )
}

/** Selects a plan, or none. Field name: planName. */
export function PlanField({ chosen }: { chosen: string | null }) {
  const list = useApi<{ plans: PlanRow[] }>('/price-plans')
  const names = (list.data?.plans ?? []).map(({ planName, displayName }) => ({
    value: planName,
    label: displayName === null ? planName : `${displayName} (${planName})`,
  }))
  return <NameField name="planName" label={t.prices.plan} none={t.prices.noPlan} names={names} chosen={chosen} />
}

/** Selects a group, or none. Field name: groupName. */
function GroupField({ chosen }: { chosen: string | null }) {
  const list = useApi<{ groups: GroupRow[] }>('/price-groups')
  const names = (list.data?.groups ?? []).map(({ groupName }) => ({ value: groupName, label: groupName }))
  return <NameField name="groupName" label={t.prices.group} none={t.prices.noGroup} names={names} chosen={chosen} />
}

interface NameFieldProps {
  name: string
  label: string
  none: string
  names: { value: string; label: string }[]
  chosen: string | null
}

function NameField(props: NameFieldProps) {
  const { name, label, none, names, chosen } = props
  // The current one is always offered, even while the list loads or if it is not on the first page.
  const isListed = chosen === null || names.some(({ value }) => value === chosen)
  const all = isListed ? names : [{ value: chosen, label: chosen }, ...names]
  return (
    <NativeSelect
      name={name}
      label={label}
      defaultValue={chosen ?? ''}
      data={[{ value: '', label: none }, ...all]}
      data-autofocus
    />
  )
}
