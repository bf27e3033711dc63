import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import type { StockBatchRow } from '@dealer-esim/gateway/http/console/stock-batches.ts'
import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { postForFile } from '#api/download.ts'
import { confirmFirst } from '#api/held-confirmation.ts'
import { useApi } from '#api/use-api.ts'
import { useList } from '#lists/use-list.ts'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { useFilterKinds } from '#parts/filters.tsx'
import { formatCount } from '#parts/format.ts'
import { actionsColumn, countColumn, RowButton, timeColumn } from '#parts/list-columns.tsx'
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
    <StockFrame description={t.stock.batchesText}>
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
          { accessor: 'batchName', title: t.stock.batch },
          { accessor: 'productCode', title: t.stock.product, cellsClassName: 'mono' },
          { accessor: 'supplier', title: t.stock.supplier },
          timeColumn('importedAt', t.stock.importedAt),
          countColumn('codes', t.stock.codes),
          countColumn('available', t.stock.available),
          countColumn('expired', t.stock.expired),
          { accessor: 'nextExpiry', title: t.stock.nextExpiry, render: (row) => <NextExpiry row={row} /> },
          actionsColumn((row) => <BatchActions row={row} onOpen={(what) => setOpen({ what, batch: row })} />),
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
  return (
    <Group gap={4} justify="flex-end">
      {canOperate(me) && (
        <RowButton
          label={alertText(row)}
          name={`${alertText(row)}, ${formatMessage(t.stock.alertOf, { batch: row.batchName })}`}
          onClick={() => onOpen('alert')}
        />
      )}
      {canOperate(me) && row.available > 0 && (
        <RowButton
          label={t.stock.setExpiry}
          name={`${t.stock.setExpiry}, ${formatMessage(t.stock.setExpiryOf, { batch: row.batchName })}`}
          onClick={() => onOpen('expiry')}
        />
      )}
      <Button
        size="compact-xs"
        variant="default"
        component="a"
        href={apiUrl(`${batchPath(row)}/codes.csv`).href}
        download
        aria-label={formatMessage(t.stock.exportOf, { batch: row.batchName })}
      >
        {t.stock.export}
      </Button>
      {me.role === 'OPERATOR_ADMIN' && row.available + row.expired > 0 && (
        <RowButton
          label={t.stock.exportCodes}
          name={formatMessage(t.stock.exportCodesOf, { batch: row.batchName })}
          onClick={() => onOpen('codes')}
        />
      )}
    </Group>
  )
}

/** The label of the button that sets the alert. */
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
      <Timestamp time={nextExpiry} /> {formatMessage(t.stock.expiringSoon, { count: formatCount(expiring) })}
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
