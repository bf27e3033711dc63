import type { GroupRow } from '@dealer-esim/gateway/console-api/price-groups.ts'
import type { PlanRow } from '@dealer-esim/gateway/console-api/price-plans.ts'
import { NativeSelect } from '@mantine/core'
import { t } from '../strings/index.ts'
import { useApi } from '../use-api.ts'

/** Chooses a plan, or none. Name: planName. */
export function PlanField({ chosen }: { chosen: string | null }) {
  const list = useApi<{ plans: PlanRow[] }>('/price-plans')
  const names = (list.data?.plans ?? []).map((row) => row.planName)
  return <NameField name="planName" label={t.prices.plan} none={t.prices.noPlan} names={names} chosen={chosen} />
}

/** Chooses a group, or none. Name: groupName. */
export function GroupField({ chosen }: { chosen: string | null }) {
  const list = useApi<{ groups: GroupRow[] }>('/price-groups')
  const names = (list.data?.groups ?? []).map((row) => row.groupName)
  return <NameField name="groupName" label={t.prices.group} none={t.prices.noGroup} names={names} chosen={chosen} />
}

function NameField(props: { name: string; label: string; none: string; names: string[]; chosen: string | null }) {
  const { name, label, none, names, chosen } = props
  // The one at hand can be chosen before the list is there, and beyond its first page.
  const all = chosen === null || names.includes(chosen) ? names : [chosen, ...names]
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
