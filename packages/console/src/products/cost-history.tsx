import type { SupplierProductRow } from '@dealer-esim/gateway/http/console/products/products.ts'
import { Modal, Stack } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { useReturnFocus } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { Facts, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'

interface Cost {
  since: string
  cost: number | null
  currencyCode: string | null
}

/** What the supplier states about a product beyond its data. */
function statedOf({ included, fupPolicy }: SupplierProductRow): [string, string][] {
  return [
    ...(included ? [[t.products.included, included] as [string, string]] : []),
    ...(fupPolicy ? [[t.products.fupPolicy, fupPolicy] as [string, string]] : []),
  ]
}

/** The costs of a product over time, the latest first. */
export function CostHistory({ product, onClose }: { product: SupplierProductRow; onClose(): void }) {
  useReturnFocus(true)
  const { supplier, productCode, name } = product
  const stated = statedOf(product)
  const list = useApi<{ costs: Cost[] }>('/supplier-products/costs', { supplier, productCode })
  return (
    <Modal opened onClose={onClose} title={name} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        {stated.length > 0 && <Facts cols={1} items={stated} />}
        <List<Cost>
          label={t.products.costs}
          rows={list.data?.costs}
          query={list}
          idOf={(row) => row.since}
          empty={{ title: t.products.notListed }}
          columns={[
            valueColumn('since', t.products.since, (row) => <Timestamp time={row.since} format="exact" />),
            {
              accessor: 'cost',
              title: t.products.cost,
              textAlign: 'right',
              render: ({ cost, currencyCode }) =>
                cost === null || currencyCode === null ? t.products.notListed : formatMoney(cost, currencyCode),
            },
          ]}
        />
      </Stack>
    </Modal>
  )
}
