import type { SupplierProductRow } from '@dealer-esim/gateway/http/console/products/products.ts'
import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { ActionIcon, Autocomplete, Button, CloseButton, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useApi } from '#api/use-api.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { emptySupplier, errorAt, type TypedSupplier } from './package-form.ts'

interface SupplierRowsProps {
  rows: TypedSupplier[]
  onChange(rows: TypedSupplier[]): void
  errors: Record<string, string>
  children: ReactNode
}

/** The suppliers of a package in the order in which they are tried. */
export function SupplierRows({ rows, onChange, errors, children }: SupplierRowsProps) {
  const suppliers = useApi<{ suppliers: SupplierRow[] }>('/suppliers').data?.suppliers ?? []
  const names = suppliers.map(({ supplier }) => supplier)
  const move = (index: number, by: number) => {
    const moved = [...rows]
    moved.splice(index + by, 0, ...moved.splice(index, 1))
    onChange(moved)
  }
  return (
    <Card
      title={t.catalogue.suppliers}
      actions={
        <Button size="xs" variant="default" onClick={() => onChange([...rows, emptySupplier()])}>
          {t.package.addSupplier}
        </Button>
      }
    >
      <Hint>{t.package.suppliersText}</Hint>
      {errorAt(errors, 'suppliers') !== undefined && errors.suppliers !== undefined && (
        <Text size="sm" c="red" role="alert">
          {errors.suppliers}
        </Text>
      )}
      {rows.map((row, index) => (
        <Group key={row.id} gap="sm" align="flex-start" data-supplier={index + 1}>
          <SupplierInputs
            row={row}
            at={`suppliers[${index}]`}
            names={names}
            errors={errors}
            onChange={(changed) => onChange(rows.map((other) => (other.id === row.id ? changed : other)))}
          />
          <Group gap={4} mt={26} wrap="nowrap">
            <ActionIcon
              variant="subtle"
              aria-label={formatMessage(t.package.moveUp, { number: index + 1 })}
              disabled={index === 0}
              onClick={() => move(index, -1)}
            >
              <IconArrowUp size={16} />
            </ActionIcon>
            <ActionIcon
              variant="subtle"
              aria-label={formatMessage(t.package.moveDown, { number: index + 1 })}
              disabled={index === rows.length - 1}
              onClick={() => move(index, 1)}
            >
              <IconArrowDown size={16} />
            </ActionIcon>
            <CloseButton
              aria-label={formatMessage(t.package.removeSupplier, { number: index + 1 })}
              onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
            />
          </Group>
        </Group>
      ))}
      {children}
    </Card>
  )
}

function SupplierInputs(props: {
  row: TypedSupplier
  at: string
  names: string[]
  errors: Record<string, string>
  onChange(row: TypedSupplier): void
}) {
  const { row, at, names, errors, onChange } = props
  const [keyword] = useDebouncedValue(row.productCode, 250)
  const products = useProducts(row.supplier, keyword)
  // The current supplier is also offered while the list loads, or if it has been removed.
  const offered = row.supplier === '' || names.includes(row.supplier) ? names : [row.supplier, ...names]
  return (
    <>
      <NativeSelect
        label={t.stock.supplier}
        value={row.supplier}
        w={150}
        error={errorAt(errors, `${at}.supplier`)}
        data={[{ value: '', label: t.package.chooseSupplier }, ...offered]}
        onChange={(event) => onChange({ ...row, supplier: event.currentTarget.value })}
      />
      <Autocomplete
        label={t.stock.product}
        data={products.map(({ productCode }) => productCode)}
        value={row.productCode}
        w={150}
        error={errorAt(errors, `${at}.productCode`)}
        onChange={(productCode) => {
          const product = products.find((one) => one.productCode === productCode)
          const cost = product?.cost
          onChange({ ...row, productCode, ...(cost && row.costPrice === '' && cost) })
        }}
      />
      <TextInput
        label={t.package.cost}
        inputMode="decimal"
        value={row.costPrice}
        w={95}
        error={errorAt(errors, `${at}.costPrice`)}
        onChange={(event) => onChange({ ...row, costPrice: event.currentTarget.value })}
      />
      <TextInput
        label={t.prices.currency}
        value={row.costCurrency}
        maxLength={3}
        w={80}
        error={errorAt(errors, `${at}.costCurrency`)}
        onChange={(event) => onChange({ ...row, costCurrency: event.currentTarget.value })}
      />
    </>
  )
}

interface KnownProduct {
  productCode: string
  cost?: Pick<TypedSupplier, 'costPrice' | 'costCurrency'>
}

/** A supplier's products: those in its catalogue that match the typed text, and those in stock. */
function useProducts(supplier: string, keyword: string): KnownProduct[] {
  const enabled = supplier !== ''
  const query = { supplier, keyword: keyword.trim() || undefined }
  const listed = useApi<{ products: SupplierProductRow[] }>('/supplier-products', query, { enabled })
  const stock = useApi<{ levels: StockLevel[] }>('/stock', {}, { enabled })
  const levels = (stock.data?.levels ?? []).filter((level) => level.supplier === supplier)
  const known = new Map<string, KnownProduct>(levels.map(({ productCode }) => [productCode, { productCode }]))
  for (const { productCode, cost, currencyCode } of listed.data?.products ?? []) {
    known.set(productCode, { productCode, cost: { costPrice: String(cost / 10_000), costCurrency: currencyCode } })
  }
  return [...known.values()]
}
