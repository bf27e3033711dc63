import type { GroupRow } from '@dealer-esim/gateway/http/console/prices/price-groups.ts'
import type { PlanRow } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Button } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { countColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page, Tabs } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { NameDialog } from './plan-or-group.tsx'
import { GROUPS, groupPath, PLANS, planPath } from './price-paths.ts'

/** Price plans, and the groups of dealers that share one. */
export function PricesPage() {
  const me = useSession()
  const { pathname } = useLocation()
  const [creating, setCreating] = useState(false)
  const showsGroups = pathname.endsWith(GROUPS)
  const create = canOperate(me) && (
    <Button onClick={() => setCreating(true)}>{showsGroups ? t.prices.newGroup : t.prices.newPlan}</Button>
  )
  return (
    <Page title={t.prices.title} actions={create}>
      <Tabs
        label={t.prices.title}
        items={[
          { to: PLANS, label: t.prices.tabs.plans },
          { to: GROUPS, label: t.prices.tabs.groups },
        ]}
      />
      {showsGroups ? <Groups /> : <Plans />}
      {creating && <NameDialog kind={showsGroups ? 'group' : 'plan'} onClose={() => setCreating(false)} />}
    </Page>
  )
}

function Plans() {
  const list = useApi<{ plans: PlanRow[] }>('/price-plans')
  return (
    <List<PlanRow>
      label={t.prices.plans}
      csv={{ path: '/price-plans' }}
      name="price-plans"
      rows={list.data?.plans}
      query={list}
      idOf={(row) => row.planName}
      to={(row) => planPath(row.planName)}
      empty={{ title: t.prices.noPlans, text: t.prices.noPlansText }}
      columns={[
        { accessor: 'planName', title: t.prices.name, phone: 'main' },
        valueColumn('displayName', t.prices.displayName, (row) => row.displayName ?? '–', { phone: 'note' }),
        countColumn('ruleCount', t.prices.rules, { phone: 'status', isNamed: true }),
        countColumn('tenantCount', t.prices.dealers, { phone: 'value', isNamed: true }),
        { accessor: 'groupNames', title: t.prices.tabs.groups, render: (row) => row.groupNames.join(', ') || '–' },
      ]}
    />
  )
}

function Groups() {
  const list = useApi<{ groups: GroupRow[] }>('/price-groups')
  return (
    <List<GroupRow>
      label={t.prices.tabs.groups}
      csv={{ path: '/price-groups' }}
      name="price-groups"
      rows={list.data?.groups}
      query={list}
      idOf={(row) => row.groupName}
      to={(row) => groupPath(row.groupName)}
      empty={{ title: t.prices.noGroups, text: t.prices.noGroupsText }}
      columns={[
        { accessor: 'groupName', title: t.prices.name, phone: 'main' },
        { accessor: 'planName', title: t.prices.plan, phone: 'note' },
        countColumn('tenantCount', t.prices.dealers, { phone: 'value', isNamed: true }),
      ]}
    />
  )
}
