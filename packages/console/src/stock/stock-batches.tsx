import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import type { StockBatchRow } from '@dealer-esim/gateway/http/console/stock-batches.ts'
import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { postForFile } from '#api/download.ts'
import { confirmFirst } from '#api/held-confirmation.ts'
import { useApi } from '#api/use-api.ts'
import { MoreMenu } from '#design/record.tsx'
import { useList } from '#lists/use-list.ts'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { useFilterKinds } from '#parts/filters.tsx'
import { formatCount } from '#parts/format.ts'
import { actionsColumn, countColumn, relativeTimeColumn, valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Timestamp } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { StockFrame } from './stock-tabs.tsx'

/** Imports of codes: how many are left of each, and when they expire. */
export function StockBatchesPage() {
  const [{ supplier, expiring }] = useFilters()
  const { choice } = useFilterKinds()
  const query = { supplier, expiring: expiring === 'true' ? true : undefined }
  const list = useList<StockBatchRow>('/stock/batches', 'batches', query)
  const stock = useApi<{ levels: StockLevel[]; stockSuppliers: string[] }>('/stock')
  const [open, setOpen] = useState<{ what: BatchDialog; batch: StockBatchRow }>()
  const close = () => setOpen(undefined)
  const suppliers = stock.data?.stockSuppliers ?? []
  const choices = [
    choice({ name: 'supplier', label: t.stock.supplier, values: suppliers, labels: {} }),
    choice({ name: 'expiring', label: t.stock.expiringOnly, values: ['true'], labels: { true: t.products.yesNo.YES } }),
  ]
  return (
    <StockFrame>
      <List<StockBatchRow>
        label={t.stock.batches}
        list={list}
        name="stock-batches"
        filters={choices}
        idOf={(row) => row.batchId}
        empty={
          supplier || expiring
            ? { title: t.stock.noMatchingBatches }
            : { title: t.stock.noBatches, text: t.stock.noBatchesText }
        }
        columns={[
          { accessor: 'batchName', title: t.stock.batch, phone: 'main', width: 130 },
          { accessor: 'productCode', title: t.stock.product, cellsClassName: 'mono', width: 100 },
          { accessor: 'supplier', title: t.stock.supplier, width: 80 },
          relativeTimeColumn('importedAt', t.stock.importedAt, {
            width: 140,
          }),
          countColumn('codes', t.stock.codes, { width: 65 }),
          countColumn('available', t.stock.available, { phone: 'value', isNamed: true, width: 85 }),
          countColumn('expired', t.stock.expired, { width: 75 }),
          valueColumn('nextExpiry', t.stock.nextExpiry, (row) => <NextExpiry row={row} />, {
            phone: 'note',
            isNamed: true,
            width: 290,
          }),
          actionsColumn((row) => <BatchActions row={row} onOpen={(what) => setOpen({ what, batch: row })} />, {
            phone: 'status',
            width: 75,
          }),
        ]}
      />
      {open?.what === 'alert' && <AlertDialog batch={open.batch} onClose={close} />}
      {open?.what === 'expiry' && <ExpiryDialog batch={open.batch} onClose={close} />}
      {open?.what === 'codes' && <ExportDialog batch={open.batch} onClose={close} />}
    </StockFrame>
  )
}

type BatchDialog = 'alert' | 'codes' | 'expiry'

function BatchActions({ row, onOpen }: { row: StockBatchRow; onOpen(what: BatchDialog): void }) {
  const me = useSession()
  const opens = (what: BatchDialog) => () => onOpen(what)
  const mayChange = canOperate(me)
  return (
    <MoreMenu
      of={row.batchName}
      actions={[
        ...(mayChange ? [{ label: alertText(row), onClick: opens('alert') }] : []),
        ...(mayChange && row.available > 0 ? [{ label: t.stock.setExpiry, onClick: opens('expiry') }] : []),
        { label: t.stock.export, file: apiUrl(`${batchPath(row)}/codes.csv`).href },
        ...(me.role === 'OPERATOR_ADMIN' && row.available + row.expired > 0
          ? [{ label: t.stock.exportCodes, onClick: opens('codes') }]
          : []),
      ]}
    />
  )
}

/** Sets the alert, and says which one is set. */
function alertText({ alertDays }: StockBatchRow): string {
  return alertDays === null ? t.stock.setAlert : formatMessage(t.stock.daysBefore, { count: alertDays })
}

function batchPath({ supplier, batchId }: StockBatchRow): string {
  return `/stock/${encodeURIComponent(supplier)}/batches/${batchId}`
}

function NextExpiry({ row: { nextExpiry, expiring } }: { row: StockBatchRow }) {
  if (nextExpiry === null) return <>{t.stock.never}</>
  if (expiring === 0) return <Timestamp time={nextExpiry} />
  return (
    <strong className="negative">
      <Timestamp time={nextExpiry} format="relative" />
      <Text span inherit visibleFrom="sm">
        {` ${formatMessage(t.stock.expiringSoon, { count: formatCount(expiring) })}`}
      </Text>
    </strong>
  )
}

function AlertDialog({ batch, onClose }: { batch: StockBatchRow; onClose(): void }) {
  return (
    <ChangeDialog
      title={formatMessage(t.stock.alertOf, { batch: batch.batchName })}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={({ alertDays }) => ({
        method: 'PUT',
        path: `${batchPath(batch)}/alert`,
        body: { alertDays: alertDays === undefined ? null : Number(alertDays) },
      })}
    >
      <Text size="sm">{t.stock.alertText}</Text>
      <TextInput
        name="alertDays"
        type="number"
        min={1}
        max={365}
        label={t.stock.alertDays}
        defaultValue={batch.alertDays ?? ''}
        data-autofocus
      />
    </ChangeDialog>
  )
}

function ExpiryDialog({ batch, onClose }: { batch: StockBatchRow; onClose(): void }) {
  return (
    <ChangeDialog<{ codes: number }>
      title={formatMessage(t.stock.setExpiryOf, { batch: batch.batchName })}
      onClose={onClose}
      submit={t.common.save}
      request={({ expiresOn }) => ({
        method: 'PUT',
        path: `${batchPath(batch)}/expiry`,
        body: { expiresAt: expiresOn === undefined ? null : `${expiresOn}T00:00:00.000Z` },
      })}
      success={({ codes }) => formatMessage(t.stock.expirySet, { count: codes })}
    >
      <Text size="sm">{t.stock.setExpiryText}</Text>
      <TextInput
        name="expiresOn"
        type="date"
        label={t.stock.newExpiry}
        description={t.stock.newExpiryHint}
        defaultValue={batch.nextExpiry?.slice(0, 10) ?? ''}
        data-autofocus
      />
    </ChangeDialog>
  )
}

/** Downloads a batch with its activation codes, after a reauthentication. */
function ExportDialog({ batch, onClose }: { batch: StockBatchRow; onClose(): void }) {
  const [state, setState] = useState<{ busy: boolean; error?: Error }>({ busy: false })
  async function download(credentials: Record<string, string>) {
    setState({ busy: true })
    try {
      const confirmed = await confirmFirst(credentials)
      await postForFile(`${batchPath(batch)}/codes.csv`, confirmed as object, `${batch.batchName}.csv`)
      onClose()
    } catch (error) {
      setState({ busy: false, error: error as Error })
    }
  }
  return (
    <Dialog
      title={formatMessage(t.stock.exportCodesOf, { batch: batch.batchName })}
      opened
      onClose={onClose}
      submit={t.stock.exportCodes}
      busy={state.busy}
      error={state.error ?? null}
      onSubmit={(credentials) => void download(credentials)}
    >
      <Text size="sm">{t.stock.exportCodesText}</Text>
      <ReauthenticationFields />
    </Dialog>
  )
}
