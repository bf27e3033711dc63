import type { ExchangeRateRow } from '@dealer-esim/gateway/http/console/products/exchange-rates.ts'
import { Button, Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatDay } from '#parts/format.ts'
import { actionsColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'

/** Rates at which costs in one currency become prices in another. */
export function ExchangeRates() {
  const me = useSession()
  const list = useApi<{ rates: ExchangeRateRow[] }>('/exchange-rates')
  const remove = useChange({ success: t.exchangeRates.removed })
  const [editing, setEditing] = useState<Partial<ExchangeRateRow>>()
  return (
    <Card
      title={t.exchangeRates.title}
      actions={
        canOperate(me) && (
          <Button size="xs" variant="default" onClick={() => setEditing({})}>
            {t.exchangeRates.add}
          </Button>
        )
      }
    >
      <Hint>{t.exchangeRates.text}</Hint>
      {list.data && list.data.rates.length > 0 && (
        <List<ExchangeRateRow>
          label={t.exchangeRates.title}
          csv={{ path: '/exchange-rates' }}
          rows={list.data.rates}
          query={list}
          idOf={pairOf}
          empty={{ title: t.exchangeRates.title }}
          columns={[
            { accessor: 'costCurrency', title: t.exchangeRates.costCurrency },
            { accessor: 'saleCurrency', title: t.exchangeRates.saleCurrency },
            { accessor: 'rate', title: t.exchangeRates.rate, textAlign: 'right' },
            valueColumn('ratedAt', t.exchangeRates.ratedAt, (row) => formatDay(row.ratedAt.slice(0, 10))),
            actionsColumn(
              (row) => (
                <Group gap={4} justify="flex-end">
                  <RowButton label={t.exchangeRates.edit} of={pairOf(row)} onClick={() => setEditing(row)} />
                  <RowButton
                    label={t.exchangeRates.remove}
                    of={pairOf(row)}
                    onClick={() =>
                      remove.mutate({
                        method: 'DELETE',
                        path: `/exchange-rates?costCurrency=${row.costCurrency}&saleCurrency=${row.saleCurrency}`,
                      })
                    }
                  />
                </Group>
              ),
              { hidden: !canOperate(me) },
            ),
          ]}
        />
      )}
      {editing && <EditRate row={editing} onClose={() => setEditing(undefined)} />}
    </Card>
  )
}

function pairOf({ costCurrency, saleCurrency }: ExchangeRateRow): string {
  return `${costCurrency} ${saleCurrency}`
}

/** Enters the rate of a new pair, or a new rate of an existing one, whose currencies cannot be changed. */
function EditRate({ row, onClose }: { row: Partial<ExchangeRateRow>; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.exchangeRates.enter}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={({ costCurrency = '', saleCurrency = '', rate = '', day = '' }) => ({
        method: 'PUT',
        path: '/exchange-rates',
        body: {
          costCurrency: costCurrency.toUpperCase(),
          saleCurrency: saleCurrency.toUpperCase(),
          rate,
          ratedAt: `${day}T00:00:00Z`,
        },
      })}
    >
      <TextInput
        name="costCurrency"
        label={t.exchangeRates.costCurrency}
        defaultValue={row.costCurrency ?? ''}
        readOnly={row.costCurrency !== undefined}
        maxLength={3}
        required
        data-autofocus
      />
      <TextInput
        name="saleCurrency"
        label={t.exchangeRates.saleCurrency}
        defaultValue={row.saleCurrency ?? ''}
        readOnly={row.saleCurrency !== undefined}
        maxLength={3}
        required
      />
      <TextInput
        name="rate"
        label={t.exchangeRates.rate}
        description={t.exchangeRates.rateHint}
        defaultValue={row.rate ?? ''}
        inputMode="decimal"
        required
      />
      <TextInput
        name="day"
        type="date"
        label={t.exchangeRates.ratedAt}
        defaultValue={new Date().toISOString().slice(0, 10)}
        required
      />
    </ChangeDialog>
  )
}
