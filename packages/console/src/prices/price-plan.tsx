import type { PlanRule } from '@dealer-esim/gateway/console-api/routes/prices/plan-rule.ts'
import type { PlanDetail } from '@dealer-esim/gateway/console-api/routes/prices/price-plans.ts'
import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { SearchField, useFilters } from '../parts/filters.tsx'
import { parseMoneyInput } from '../parts/form-values.ts'
import { formatMoney } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { LoadError, Loading } from '../parts/load-states.tsx'
import { Card, Page } from '../parts/page.tsx'
import { canOperate, useSession } from '../session/session.ts'
import { interpolate, t } from '../strings/strings.ts'
import { PLANS } from './paths.ts'
import { apiPath, DealersCard, NameActions } from './plan-or-group.tsx'

export function PricePlanPage() {
  const me = useSession()
  const { planName = '' } = useParams({ strict: false }) as { planName?: string }
  const [{ packageCode, cursor }, setFilters] = useFilters()
  const path = apiPath('plan', planName)
  const { data, error, refetch, isFetching } = useApi<PlanDetail>(path, { packageCode, cursor })
  const [setting, setSetting] = useState(false)
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data) return <Loading />
  const changes = canOperate(me)
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
          empty={
            packageCode ? { title: t.prices.noMatchingRules } : { title: t.prices.noRules, text: t.prices.noRulesText }
          }
          columns={[
            { accessor: 'packageCode', title: t.prices.package, render: packageText },
            { accessor: 'value', title: t.prices.value, textAlign: 'right', render: ruleText },
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
      <DealersCard list={data} emptyText={t.prices.noDealersOnPlan} />
      {setting && <SetRule planName={data.planName} onClose={() => setSetting(false)} />}
    </Page>
  )
}

function packageText({ packageCode }: PlanRule): string {
  return packageCode ?? t.prices.everyPackage
}

function ruleText({ percent, basis, rounding, price, currencyCode }: PlanRule): string {
  if (price !== null) return formatMoney(price, currencyCode ?? '')
  const text = basis === 'COST' ? t.prices.percentOnCost : t.prices.percentOnList
  const rounded = rounding === 'none' ? '' : `, ${interpolate(t.prices.roundedTo, { rounding })}`
  return interpolate(text, { percent: percent ?? '' }) + rounded
}

function RemoveRule({ path, rule }: { path: string; rule: PlanRule }) {
  const remove = useChange({ success: t.prices.saved })
  const query = new URLSearchParams()
  if (rule.packageCode !== null) query.set('packageCode', rule.packageCode)
  if (rule.currencyCode !== null) query.set('currencyCode', rule.currencyCode)
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={remove.isPending}
      aria-label={interpolate(t.prices.removeRule, { what: `${packageText(rule)}, ${ruleText(rule)}` })}
      onClick={() => remove.mutate({ method: 'DELETE', path: `${path}/rules?${query}` })}
    >
      {t.prices.remove}
    </Button>
  )
}

function SetRule({ planName, onClose }: { planName: string; onClose(): void }) {
  const set = useChange({ success: t.prices.saved, quiet: true })
  const [kind, setKind] = useState<keyof typeof t.prices.ruleTypes>('percent')
  const [amountError, setAmountError] = useState<string>()
  return (
    <Dialog
      title={`${t.prices.setRule}: ${planName}`}
      opened
      onClose={onClose}
      submit={t.prices.setRule}
      busy={set.isPending}
      error={set.error}
      onSubmit={({ packageCode, percent, basis, rounding, price = '', currencyCode = '' }) => {
        const read = kind === 'price' ? parseMoneyInput(price) : undefined
        const isWrong = read && 'error' in read
        setAmountError(isWrong ? read.error : undefined)
        if (isWrong) return
        const value = read
          ? { price: read.amount, currencyCode: currencyCode.toUpperCase() }
          : { percent, basis, rounding }
        const body = { ...(packageCode && { packageCode }), ...value }
        set.mutate({ method: 'PUT', path: `${apiPath('plan', planName)}/rules`, body }, { onSuccess: onClose })
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
        label={t.prices.ruleType}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
        data={Object.entries(t.prices.ruleTypes).map(([value, label]) => ({ value, label }))}
      />
      {kind === 'percent' ? (
        <>
          <TextInput
            name="percent"
            label={t.prices.percent}
            description={t.prices.percentHint}
            required
            maxLength={40}
          />
          <NativeSelect
            name="basis"
            label={t.prices.basis}
            description={t.prices.basisHint}
            data={Object.entries(t.prices.bases).map(([value, label]) => ({ value, label }))}
          />
          <TextInput name="rounding" label={t.prices.rounding} description={t.saleRules.roundingHint} maxLength={100} />
        </>
      ) : (
        <Group grow align="flex-start">
          <TextInput name="price" label={t.prices.price} inputMode="decimal" required error={amountError} />
          <TextInput name="currencyCode" label={t.prices.currency} defaultValue="USD" required maxLength={3} />
        </Group>
      )}
    </Dialog>
  )
}
