import type { PlanRule } from '@dealer-esim/gateway/http/console/prices/plan-rule.ts'
import type { PlanDetail } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Button, Text, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { MoreMenu, Record, StateSentence } from '#design/record.tsx'
import { useList } from '#lists/use-list.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { SearchBox } from '#parts/filters.tsx'
import { formatCount } from '#parts/format.ts'
import { actionsColumn } from '#parts/list-columns.tsx'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Facts, Hint, type StatusTone, TextLink } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage, locale } from '#strings/strings.ts'
import { AssignedDealers, apiPath, useNameActions } from './plan-or-group.tsx'
import { packagesText, validityText, valueText } from './plan-rule-text.ts'
import { groupPath, PLANS } from './price-paths.ts'
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
  const naming = useNameActions('plan', planName)
  if (!data) return <LoadState error={error} retry={refetch} />
  const changes = canOperate(me)
  const more = [{ label: t.prices.displayName, onClick: () => setOpen('displayName') }, ...naming.more]
  return (
    <Page
      title={data.displayName ?? data.planName}
      back={{ to: PLANS, label: t.prices.plans }}
      mark={data.displayName !== null && <span className="mono">{data.planName}</span>}
      actions={<MoreMenu actions={changes ? more : []} />}
    >
      <StateSentence
        {...stateOf(data)}
        actions={changes && <Button onClick={() => setOpen('rule')}>{t.prices.setRule}</Button>}
      />
      <Record rail={<Rail plan={data} />}>
        <Card title={t.prices.rules}>
          <List<PlanRule>
            label={t.prices.rules}
            list={list}
            name="price-rules"
            search={<SearchBox name="packageCode" label={t.prices.package} />}
            idOf={(row) => `${packagesText(row)} ${row.currencyCode ?? ''} ${row.validFrom ?? ''}`.trim()}
            empty={
              packageCode
                ? { title: t.prices.noMatchingRules }
                : { title: t.prices.noRules, text: t.prices.noRulesText }
            }
            columns={[
              { accessor: 'packages', title: t.prices.packages, render: packagesText },
              { accessor: 'value', title: t.prices.value, textAlign: 'right', width: 240, render: valueText },
              { accessor: 'validity', title: t.prices.validity, render: (row) => validityText(row) ?? t.prices.always },
              actionsColumn((row) => <RemoveRule planName={data.planName} rule={row} />, {
                hidden: !changes,
                width: 100,
              }),
            ]}
          />
        </Card>
      </Record>
      {naming.dialog}
      {open === 'rule' && <RuleDialog planName={data.planName} onClose={close} />}
      {open === 'displayName' && <DisplayNameDialog plan={data} onClose={close} />}
    </Page>
  )
}

/** The dealers and groups whose prices the plan decides, as a sentence. */
function stateOf({ ruleCount, tenantCount, groupNames }: PlanDetail): {
  tone: StatusTone
  title: string
  text: string
} {
  const { used, unused, noRules, dealers, groups } = t.prices.planStates
  if (ruleCount === 0) return { tone: 'off', title: noRules, text: t.prices.noRulesText }
  const users = [
    ...(tenantCount > 0 ? [formatMessage(dealers, { count: tenantCount })] : []),
    ...(groupNames.length > 0 ? [formatMessage(groups, { count: groupNames.length })] : []),
  ]
  if (users.length === 0) return { tone: 'off', ...unused }
  return { tone: 'ok', title: formatMessage(used.title, { users: conjunction.format(users) }), text: used.text }
}

const conjunction = new Intl.ListFormat(locale)

function Rail({ plan }: { plan: PlanDetail }) {
  return (
    <>
      <AssignedDealers kind="plan" name={plan.planName} list={plan} />
      <Card title={t.prices.tabs.groups}>
        {plan.groupNames.length === 0 && <Hint>{t.prices.noGroupOnPlan}</Hint>}
        {plan.groupNames.map((name) => (
          <TextLink key={name} to={groupPath(name)}>
            {name}
          </TextLink>
        ))}
      </Card>
      <Card title={t.common.details}>
        <Facts
          cols={1}
          items={[
            [t.prices.name, plan.planName],
            [t.prices.displayName, plan.displayName],
            [t.prices.rules, formatCount(plan.ruleCount)],
          ]}
        />
      </Card>
    </>
  )
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
