import type { PlanRule } from '@dealer-esim/gateway/http/console/prices/plan-rule.ts'
import type { PlanDetail } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Button, Text, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { useList } from '#lists/use-list.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { SearchBox } from '#parts/filters.tsx'
import { actionsColumn } from '#parts/list-columns.tsx'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { AssignedDealers, apiPath, NameActions } from './plan-or-group.tsx'
import { packagesText, validityText, valueText } from './plan-rule-text.ts'
import { PLANS } from './price-paths.ts'
import { RemoveRule } from './remove-rule.tsx'
import { RuleDialog } from './rule-dialog.tsx'

export function PricePlanPage() {
  const me = useSession()
  const { planName = '' } = useParams({ strict: false }) as { planName?: string }
  const [{ packageCode }] = useFilters()
  const path = apiPath('plan', planName)
  const { data, error, refetch } = useApi<PlanDetail>(path)
  const list = useList<PlanRule>(`${path}/rules`, 'rules', { packageCode })
  const [open, setOpen] = useState<'rule' | 'displayName'>()
  const close = () => setOpen(undefined)
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data) return <Loading />
  const changes = canOperate(me)
  return (
    <Page
      title={data.displayName ?? data.planName}
      description={descriptionOf(data)}
      back={{ to: PLANS, label: t.prices.plans }}
      actions={
        changes && (
          <>
            <Button variant="default" onClick={() => setOpen('displayName')}>
              {t.prices.displayName}
            </Button>
            <NameActions kind="plan" name={data.planName} />
          </>
        )
      }
    >
      <Card
        title={t.prices.rules}
        actions={changes && <Button onClick={() => setOpen('rule')}>{t.prices.setRule}</Button>}
      >
        <List<PlanRule>
          label={t.prices.rules}
          list={list}
          name="price-rules"
          search={<SearchBox name="packageCode" label={t.prices.package} />}
          idOf={(row) => `${packagesText(row)} ${row.currencyCode ?? ''} ${row.validFrom ?? ''}`.trim()}
          empty={
            packageCode ? { title: t.prices.noMatchingRules } : { title: t.prices.noRules, text: t.prices.noRulesText }
          }
          columns={[
            { accessor: 'packages', title: t.prices.packages, render: packagesText },
            { accessor: 'value', title: t.prices.value, textAlign: 'right', render: valueText },
            { accessor: 'validity', title: t.prices.validity, render: (row) => validityText(row) ?? t.prices.always },
            actionsColumn((row) => <RemoveRule planName={data.planName} rule={row} />, { hidden: !changes }),
          ]}
        />
      </Card>
      <AssignedDealers kind="plan" name={data.planName} list={data} />
      {open === 'rule' && <RuleDialog planName={data.planName} onClose={close} />}
      {open === 'displayName' && <DisplayNameDialog plan={data} onClose={close} />}
    </Page>
  )
}

function descriptionOf({ planName, displayName, groupNames }: PlanDetail): string | undefined {
  const groups = groupNames.length > 0 ? `${t.prices.tabs.groups}: ${groupNames.join(', ')}` : undefined
  return [displayName === null ? undefined : planName, groups].filter(Boolean).join(' · ') || undefined
}

function DisplayNameDialog({ plan, onClose }: { plan: PlanDetail; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.prices.displayName}: ${plan.planName}`}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={({ displayName = null }) => ({
        method: 'PUT',
        path: `${apiPath('plan', plan.planName)}/display-name`,
        body: { displayName },
      })}
    >
      <Text size="sm">{t.prices.displayNameText}</Text>
      <TextInput
        name="displayName"
        label={t.prices.displayName}
        defaultValue={plan.displayName ?? ''}
        maxLength={100}
        data-autofocus
      />
    </ChangeDialog>
  )
}
