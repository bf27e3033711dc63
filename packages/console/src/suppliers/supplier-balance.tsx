import type { SupplierBalanceDetail } from '@dealer-esim/gateway/http/console/suppliers/supplier-balances.ts'
import { Alert, Button, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { type Bar, BarChart } from '#home/bar-chart.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { formatMoneyInput, parseMoneyInput } from '#parts/form-values.ts'
import { formatDay, formatMoney, formatMoneyShort, formatTime } from '#parts/format.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Amount, Facts, Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { timeZone } from '#strings/zone.ts'
import { supplierPage } from './supplier-paths.ts'

const REFRESH_MS = 60_000
const CYAN = 'var(--chart)'

/**
 * The operator's balance at a supplier, with its level for an alert and its history. Not shown for a supplier that does not
 * state a balance.
 */
export function SupplierBalance({ supplier }: { supplier: string }) {
  const me = useSession()
  const { data } = useApi<SupplierBalanceDetail>(
    `${supplierPage(supplier)}/balance`,
    { timeZone },
    { refreshMs: REFRESH_MS },
  )
  const [setting, setSetting] = useState(false)
  if (!data || (!data.isStated && data.amount === null)) return null
  const { amount, alertBelow, readAt, message } = data
  const currency = data.currencyCode ?? ''
  return (
    <Card
      title={t.suppliers.balance}
      actions={
        canOperate(me) && (
          <Button size="compact-xs" variant="default" onClick={() => setSetting(true)}>
            {t.suppliers.setAlert}
          </Button>
        )
      }
    >
      {data.noMoneySince !== null && (
        <ErrorText>{formatMessage(t.suppliers.noMoney, { time: formatTime(data.noMoneySince) })}</ErrorText>
      )}
      {message !== null && (
        <Alert color="orange" role="alert">
          {formatMessage(t.suppliers.balanceUnread, { message })}
        </Alert>
      )}
      {data.unexplained.map(({ day, amount: change, currencyCode }) => (
        <Alert color="orange" role="alert" key={day}>
          {formatMessage(change > 0 ? t.suppliers.balanceFellMore : t.suppliers.balanceFellLess, {
            day: formatDay(day),
            amount: formatMoney(Math.abs(change), currencyCode),
          })}
        </Alert>
      ))}
      <Facts
        items={[
          [t.suppliers.balance, amount === null ? null : <Amount value={amount} currency={currency} key="amount" />],
          [t.suppliers.balanceRead, <Timestamp time={readAt} key="readAt" />],
          [t.suppliers.alertBelow, alertBelow === null ? null : levelText(alertBelow, data.currencyCode)],
        ]}
      />
      {amount !== null && (
        <BarChart
          label={t.suppliers.balanceDays}
          format={(value) => formatMoneyShort(value, currency)}
          series={[{ name: t.suppliers.balance, color: CYAN }]}
          bars={data.days.map(({ day, amount: last }) => barOf(day, last, currency))}
        />
      )}
      {setting && <AlertLevel supplier={supplier} alertBelow={alertBelow} onClose={() => setSetting(false)} />}
    </Card>
  )
}

/** Before the first reading the currency is not known. */
function levelText(alertBelow: number, currencyCode: string | null): string {
  return currencyCode === null ? formatMoneyInput(alertBelow) : formatMoney(alertBelow, currencyCode)
}

/** A bar has no height below zero; its text states the exact amount. */
function barOf(day: string, amount: number | null, currency: string): Bar {
  const text = amount === null ? t.dashboard.noData : formatMoney(amount, currency)
  return { day, values: [Math.max(0, amount ?? 0)], title: `${formatDay(day)}: ${text}` }
}

function AlertLevel(props: { supplier: string; alertBelow: number | null; onClose(): void }) {
  const { supplier, alertBelow, onClose } = props
  const set = useChange({ success: t.common.saved, quiet: true })
  const [fault, setFault] = useState<string>()
  function save({ level }: Record<string, string>) {
    const parsed = level === undefined ? { amount: null } : parseMoneyInput(level)
    if ('error' in parsed) return setFault(parsed.error)
    setFault(undefined)
    const path = `${supplierPage(supplier)}/balance/alert`
    set.mutate({ method: 'PUT', path, body: { alertBelow: parsed.amount } }, { onSuccess: onClose })
  }
  return (
    <Dialog
      title={t.suppliers.setAlert}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={set.isPending}
      error={set.error}
      onSubmit={save}
    >
      <Text size="sm">{t.suppliers.setAlertText}</Text>
      <TextInput
        name="level"
        inputMode="decimal"
        label={t.suppliers.alertBelow}
        description={t.suppliers.alertBelowHint}
        defaultValue={formatMoneyInput(alertBelow)}
        error={fault}
        data-autofocus
      />
    </Dialog>
  )
}
