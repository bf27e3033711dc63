import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Button, CloseButton, Group, Text, TextInput } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { isCurrencyCode, parseMoneyInput } from '#parts/form-values.ts'
import { formatMoney, formatPercent } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { emptyPrice, errorAt, type TypedPrice, type TypedSupplier } from './package-form.ts'

interface PriceRowsProps {
  rows: TypedPrice[]
  /** The suppliers whose costs the margin is calculated from. */
  suppliers: TypedSupplier[]
  onChange(rows: TypedPrice[]): void
  errors: Record<string, string>
}

/** The list prices of a package, one currency per row, each with its margin over the lowest cost of a usable supplier. */
export function PriceRows({ rows, suppliers, onChange, errors }: PriceRowsProps) {
  const known = useApi<{ suppliers: SupplierRow[] }>('/suppliers').data?.suppliers ?? []
  const paused = new Set(known.filter((one) => one.paused).map(({ supplier }) => supplier))
  const usable = suppliers.filter(({ supplier }) => !paused.has(supplier))
  const set = (id: number, change: Partial<TypedPrice>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)))
  return (
    <Card
      title={t.package.listPrices}
      actions={
        <Button size="xs" variant="default" onClick={() => onChange([...rows, emptyPrice()])}>
          {t.package.addCurrency}
        </Button>
      }
    >
      <Hint>{t.package.listPricesText}</Hint>
      {rows.map((row, index) => {
        const at = `prices[${index}]`
        return (
          <Group key={row.id} gap="sm" align="flex-start" data-price={row.currencyCode}>
            <TextInput
              label={t.prices.currency}
              value={row.currencyCode}
              maxLength={3}
              w={90}
              error={errorAt(errors, `${at}.currencyCode`)}
              onChange={(event) => set(row.id, { currencyCode: event.currentTarget.value })}
            />
            <TextInput
              label={t.prices.price}
              inputMode="decimal"
              value={row.price}
              w={130}
              error={errorAt(errors, `${at}.price`)}
              onChange={(event) => set(row.id, { price: event.currentTarget.value })}
            />
            <TextInput
              label={t.prices.retailPrice}
              inputMode="decimal"
              value={row.retailPrice}
              w={230}
              error={errorAt(errors, `${at}.retailPrice`)}
              onChange={(event) => set(row.id, { retailPrice: event.currentTarget.value })}
            />
            <CloseButton
              mt={26}
              aria-label={formatMessage(t.package.removePrice, { currency: row.currencyCode || String(index + 1) })}
              onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
            />
            <Text size="sm" w="100%" c="dimmed">
              {marginText(row, usable)}
            </Text>
          </Group>
        )
      })}
    </Card>
  )
}

function marginText({ currencyCode, price }: TypedPrice, suppliers: readonly TypedSupplier[]): string {
  const currency = currencyCode.trim().toUpperCase()
  const typed = parseMoneyInput(price)
  const costs = suppliers.flatMap(({ costPrice, costCurrency }) => {
    const cost = parseMoneyInput(costPrice)
    return costCurrency.trim().toUpperCase() === currency && 'amount' in cost ? [cost.amount] : []
  })
  if (!isCurrencyCode(currency) || 'error' in typed) return ''
  if (costs.length === 0) return t.package.marginUnknown
  return formatMessage(t.package.margin, { amount: formatMargin(typed.amount, Math.min(...costs), currency) })
}

/** Price less cost, and its share of the price. */
export function formatMargin(price: number, cost: number, currency: string): string {
  const amount = formatMoney(price - cost, currency)
  return price === 0 ? amount : `${amount} (${formatPercent((price - cost) / price)})`
}
