import type { SupplierProductRow } from '@dealer-esim/gateway/console-api/routes/catalogue/supplier-products.ts'
import { Modal, Table } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { formatMoney } from '../parts/format.ts'
import { LoadError, Loading } from '../parts/load-states.tsx'
import { Timestamp } from '../parts/values.tsx'
import { t } from '../strings/strings.ts'

interface Cost {
  since: string
  cost: number | null
  currencyCode: string | null
}

/** What a product has cost, the latest first. */
export function CostHistory({ product, onClose }: { product: SupplierProductRow; onClose(): void }) {
  const { supplier, productCode, name } = product
  const list = useApi<{ costs: Cost[] }>('/supplier-products/costs', { supplier, productCode })
  return (
    <Modal opened onClose={onClose} title={name} closeButtonProps={{ 'aria-label': t.common.close }}>
      {list.error && <LoadError error={list.error} retry={list.refetch} />}
      {!list.data && !list.error && <Loading />}
      {list.data && (
        <Table aria-label={t.products.costs}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t.products.since}</Table.Th>
              <Table.Th scope="col" ta="right">
                {t.products.cost}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {list.data.costs.map((row) => (
              <Table.Tr key={row.since}>
                <Table.Td>
                  <Timestamp time={row.since} format="exact" />
                </Table.Td>
                <Table.Td ta="right">
                  {row.cost === null || row.currencyCode === null
                    ? t.products.notListed
                    : formatMoney(row.cost, row.currencyCode)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Modal>
  )
}
