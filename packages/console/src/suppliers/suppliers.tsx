import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { formatCount } from '#parts/format.ts'
import { actionsColumn, countColumn, figureColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { canOperate, isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { typeLabel } from './add-supplier.tsx'
import { ADD_SUPPLIER, SUPPLIER_REPORTS, supplierPage } from './supplier-paths.ts'
import { SupplierActions, SupplierState } from './supplier-state.tsx'

const REFRESH_MS = 10_000

export function SuppliersPage() {
  const me = useSession()
  const list = useApi<{ suppliers: SupplierRow[] }>('/suppliers', {}, { refreshMs: REFRESH_MS })
  return (
    <Page
      title={t.suppliers.title}
      description={t.suppliers.text}
      actions={
        <>
          <Button component={Link} to={SUPPLIER_REPORTS} variant="default">
            {t.suppliers.reports}
          </Button>
          {isOperatorAdmin(me) && (
            <Button component={Link} to={ADD_SUPPLIER}>
              {t.suppliers.add}
            </Button>
          )}
        </>
      }
    >
      <List<SupplierRow>
        label={t.suppliers.title}
        csv={{ path: '/suppliers' }}
        name="suppliers"
        rows={list.data?.suppliers}
        query={{ error: list.error, refetch: list.refetch }}
        idOf={(row) => row.supplier}
        to={(row) => supplierPage(row.supplier)}
        empty={{ title: t.suppliers.noSuppliers, text: t.suppliers.noSuppliersText }}
        columns={[
          { accessor: 'supplier', title: t.suppliers.name, phone: 'main' },
          { accessor: 'type', title: t.suppliers.type, render: (row) => typeLabel(row.type) },
          valueColumn('state', t.suppliers.state, (row) => <SupplierState row={row} />, {
            phone: 'status',
            width: 260,
          }),
          countColumn('waiting', t.suppliers.waiting),
          figureColumn('available', t.suppliers.available, (row) =>
            row.available === null ? '–' : formatCount(row.available),
          ),
          timeColumn('updatedAt', t.common.updated),
          actionsColumn((row) => <SupplierActions row={row} />, { phone: 'value', hidden: !canOperate(me) }),
        ]}
      />
    </Page>
  )
}
