import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import { Anchor, Button, Group, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { packagePath } from '#catalogue/catalogue-paths.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatCount } from '#parts/format.ts'
import { actionsColumn, figureColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { StockImport } from './stock-import.tsx'
import { StockFrame } from './stock-tabs.tsx'

export function StockPage() {
  const me = useSession()
  const list = useApi<{ levels: StockLevel[]; stockSuppliers: string[] }>('/stock')
  const [importing, setImporting] = useState(false)
  const [low, setLow] = useState<StockLevel>()
  const suppliers = list.data?.stockSuppliers ?? []
  const importButton = canOperate(me) && (
    <Button onClick={() => setImporting(true)} disabled={suppliers.length === 0}>
      {t.stock.import}
    </Button>
  )
  return (
    <StockFrame
      description={list.data && suppliers.length === 0 ? t.stock.noSupplier : undefined}
      actions={importButton}
    >
      <List<StockLevel>
        label={t.stock.title}
        csv={{ path: '/stock' }}
        name="stock"
        rows={list.data?.levels}
        query={list}
        idOf={(row) => `${row.supplier} ${row.productCode}`}
        empty={{ title: t.stock.noStock, text: t.stock.noStockText, action: importButton }}
        columns={[
          { accessor: 'productCode', title: t.stock.product, phone: 'main' },
          { accessor: 'supplier', title: t.stock.supplier, phone: 'note' },
          {
            accessor: 'available',
            title: t.stock.available,
            textAlign: 'right',
            phone: 'value',
            isNamed: true,
            render: (row) =>
              isLow(row) ? (
                <strong className="negative">{formatCount(row.available)}</strong>
              ) : (
                formatCount(row.available)
              ),
          },
          valueColumn('packageCodes', t.stock.soldAs, (row) => <SoldAs row={row} />, { width: 220 }),
          figureColumn('lowAt', t.stock.lowAt, (row) => (row.lowAt === null ? '–' : formatCount(row.lowAt))),
          actionsColumn(
            (row) => <RowButton label={t.stock.setAlert} of={row.productCode} onClick={() => setLow(row)} />,
            { hidden: !canOperate(me), phone: 'status' },
          ),
        ]}
      />
      {importing && list.data && <StockImport {...list.data} onClose={() => setImporting(false)} />}
      {low && <LowStock level={low} onClose={() => setLow(undefined)} />}
    </StockFrame>
  )
}

/** Below its alert level, or sold out while packages on sale depend on it. */
function isLow({ available, lowAt, packageCodes }: StockLevel): boolean {
  return (lowAt !== null && available < lowAt) || (available === 0 && packageCodes.length > 0)
}

function SoldAs({ row: { packageCodes } }: { row: StockLevel }) {
  if (packageCodes.length === 0) return <>{t.stock.notSold}</>
  return (
    <Group gap="xs">
      {packageCodes.map((code) => (
        <Anchor key={code} component={Link} to={packagePath(code)} size="sm">
          {code}
        </Anchor>
      ))}
    </Group>
  )
}

function LowStock({ level, onClose }: { level: StockLevel; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.stock.setAlert}: ${level.productCode}`}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={({ lowAt }) => ({
        method: 'POST',
        path: '/stock/low',
        body: {
          supplier: level.supplier,
          productCode: level.productCode,
          lowAt: lowAt === undefined ? null : Number(lowAt),
        },
      })}
    >
      <Text size="sm">{t.stock.setAlertText}</Text>
      <TextInput
        name="lowAt"
        type="number"
        min={1}
        label={t.stock.lowAt}
        defaultValue={level.lowAt ?? ''}
        data-autofocus
      />
    </ChangeDialog>
  )
}
