import type { PlanDetail, PlanRule } from '@dealer-esim/gateway/console-api/price-plans.ts'
import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { SearchField, useFilters } from '../parts/filters.tsx'
import { readMoney } from '../parts/form-values.ts'
import { money } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { Failure, Loading } from '../parts/load-states.tsx'
import { Card, Page } from '../parts/page.tsx'
import { operates, useSession } from '../session/session.ts'
import { say, t } from '../strings/strings.ts'
import { PLANS } from './paths.ts'
import { apiPathOf, NameActions, PriceMembers } from './plan-or-group.tsx'

export function PricePlanPage() {
  const me = useSession()
  const { planName = '' } = useParams({ strict: false }) as { planName?: string }
  const [{ packageCode, cursor }, setFilters] = useFilters()
  const path = apiPathOf('plan', planName)
  const { data, error, refetch, isFetching } = useApi<PlanDetail>(path, { packageCode, cursor })
  const [setting, setSetting] = useState(false)
  if (error && !data) return <Failure error={error} retry={refetch} />
  if (!data) return <Loading />
  const changes = operates(me)
  return (
    <Page
      title={data.planName}
      description={data.groupNames.length > 0 && `${t.prices.tabs.groups}: ${data.groupNames.join(', ')}`}
      back={{ to: PLANS, label: t.prices.plans }}
      actions={changes && <NameActions kind="plan" name={data.planName} />}
    >
      <Card
        title={t.prices.rules}
        actions={changes && <Button onClick={() => setSetting(true)}>{t.prices.setRule}</Button>}
      >
        <SearchField
          label={t.prices.package}
          value={packageCode ?? ''}
          onChange={(value) => setFilters({ packageCode: value })}
        />
        <List<PlanRule>
          label={t.prices.rules}
          rows={data.rules}
          nextCursor={data.nextCursor}
          loading={isFetching}
          idOf={(row) => `${row.packageCode ?? ''} ${row.currencyCode ?? ''}`.trim()}
          empty={packageCode ? { title: t.prices.noRuleFits } : { title: t.prices.noRules, text: t.prices.noRulesText }}
          columns={[
            { accessor: 'packageCode', title: t.prices.package, render: packageOf },
            { accessor: 'value', title: t.prices.value, textAlign: 'right', render: settingOf },
            {
              accessor: 'actions',
              title: t.common.actions,
              textAlign: 'right',
              hidden: !changes,
              render: (row) => <RemoveRule path={path} rule={row} />,
            },
          ]}
        />
      </Card>
      <PriceMembers of={data} nobody={t.prices.nobody} />
      {setting && <SetRule planName={data.planName} onClose={() => setSetting(false)} />}
    </Page>
  )
}

function packageOf({ packageCode }: PlanRule): string {
  return packageCode ?? t.prices.everyPackage
}

function settingOf({ percent, price, currencyCode }: PlanRule): string {
  return price === null ? say(t.prices.percentOf, { percent: percent ?? '' }) : money(price, currencyCode ?? '')
}

function RemoveRule({ path, rule }: { path: string; rule: PlanRule }) {
  const remove = useChange({ done: t.prices.holds })
  const query = new URLSearchParams()
  if (rule.packageCode !== null) query.set('packageCode', rule.packageCode)
  if (rule.currencyCode !== null) query.set('currencyCode', rule.currencyCode)
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={remove.isPending}
      aria-label={say(t.prices.removeRule, { what: `${packageOf(rule)}, ${settingOf(rule)}` })}
      onClick={() => remove.mutate({ method: 'DELETE', path: `${path}/rules?${query}` })}
    >
      {t.prices.remove}
    </Button>
  )
}

function SetRule({ planName, onClose }: { planName: string; onClose(): void }) {
  const set = useChange({ done: t.prices.holds, quiet: true })
  const [kind, setKind] = useState<keyof typeof t.prices.kinds>('percent')
  const [fault, setFault] = useState<string>()
  return (
    <Dialog
      title={`${t.prices.setRule}: ${planName}`}
      opened
      onClose={onClose}
      submit={t.prices.setRule}
      busy={set.isPending}
      error={set.error}
      onSubmit={({ packageCode, percent, price = '', currencyCode = '' }) => {
        const read = kind === 'price' ? readMoney(price) : undefined
        const isWrong = read && 'fault' in read
        setFault(isWrong ? read.fault : undefined)
        if (isWrong) return
        const value = read ? { price: read.amount, currencyCode: currencyCode.toUpperCase() } : { percent }
        const body = { ...(packageCode && { packageCode }), ...value }
        set.mutate({ method: 'PUT', path: `${apiPathOf('plan', planName)}/rules`, body }, { onSuccess: onClose })
      }}
    >
      <Text size="sm">{t.prices.setRuleText}</Text>
      <TextInput
        name="packageCode"
        label={t.prices.package}
        description={t.prices.packageHint}
        maxLength={64}
        data-autofocus
      />
      <NativeSelect
        label={t.prices.kind}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
        data={Object.entries(t.prices.kinds).map(([value, label]) => ({ value, label }))}
      />
      {kind === 'percent' ? (
        <TextInput name="percent" label={t.prices.percent} description={t.prices.percentHint} required maxLength={40} />
      ) : (
        <Group grow align="flex-start">
          <TextInput name="price" label={t.prices.price} inputMode="decimal" required error={fault} />
          <TextInput name="currencyCode" label={t.prices.currency} defaultValue="USD" required maxLength={3} />
        </Group>
      )}
    </Dialog>
  )
}
