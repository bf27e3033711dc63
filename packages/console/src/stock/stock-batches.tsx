import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import type { StockBatchRow } from '@dealer-esim/gateway/http/console/stock-batches.ts'
import { Button, Checkbox, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { postForFile } from '#api/download.ts'
import { confirmFirst } from '#api/held-confirmation.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { useList } from '#lists/use-list.ts'
import { Dialog } from '#parts/dialog.tsx'
import { FilterSelect } from '#parts/filters.tsx'
import { formatCount } from '#parts/format.ts'
import { notifySuccess } from '#parts/notify.ts'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Timestamp } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { interpolate, plural, t } from '#strings/strings.ts'
import { StockFrame } from './stock-tabs.tsx'

/** Imports of codes: what is left of each, and when it expires. */
export function StockBatchesPage() {
  const [{ supplier, expiring }, setFilters] = useFilters()
  const query = { supplier, expiring: expiring === 'true' ? true : undefined }
  const list = useList<StockBatchRow>('/stock/batches', 'batches', query)
  const stock = useApi<{ levels: StockLevel[]; stockSuppliers: string[] }>('/stock')
  const [open, setOpen] = useState<{ what: BatchDialog; batch: StockBatchRow }>()
  const close = () => setOpen(undefined)
  return (
    <StockFrame description={t.stock.batchesText}>
      <Group>
        <FilterSelect name="supplier" label={t.stock.supplier} values={stock.data?.stockSuppliers ?? []} labels={{}} />
        <Checkbox
          label={t.stock.expiringOnly}
          checked={expiring === 'true'}
          onChange={(event) => setFilters({ expiring: event.currentTarget.checked ? 'true' : null })}
        />
      </Group>
      <List<StockBatchRow>
        label={t.stock.batches}
        list={list}
        name="stock-batches"
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
          { accessor: 'importedAt', title: t.stock.importedAt, render: (row) => <Timestamp time={row.importedAt} /> },
          { accessor: 'codes', title: t.stock.codes, textAlign: 'right', render: (row) => formatCount(row.codes) },
          {
            accessor: 'available',
            title: t.stock.available,
            textAlign: 'right',
            render: (row) => formatCount(row.available),
          },
          {
            accessor: 'expired',
            title: t.stock.expired,
            textAlign: 'right',
            render: (row) => formatCount(row.expired),
          },
          { accessor: 'nextExpiry', title: t.stock.nextExpiry, render: (row) => <NextExpiry row={row} /> },
          {
            accessor: 'actions',
            title: t.common.actions,
            textAlign: 'right',
            render: (row) => <BatchActions row={row} onOpen={(what) => setOpen({ what, batch: row })} />,
          },
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
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${alertText(row)}, ${interpolate(t.stock.alertOf, { batch: row.batchName })}`}
          onClick={() => onOpen('alert')}
        >
          {alertText(row)}
        </Button>
      )}
      {canOperate(me) && row.available > 0 && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${t.stock.setExpiry}, ${interpolate(t.stock.setExpiryOf, { batch: row.batchName })}`}
          onClick={() => onOpen('expiry')}
        >
          {t.stock.setExpiry}
        </Button>
      )}
      <Button
        size="compact-xs"
        variant="default"
        component="a"
        href={apiUrl(`${batchPath(row)}/codes.csv`).href}
        download
        aria-label={interpolate(t.stock.exportOf, { batch: row.batchName })}
      >
        {t.stock.export}
      </Button>
      {me.role === 'OPERATOR_ADMIN' && row.available + row.expired > 0 && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={interpolate(t.stock.exportCodesOf, { batch: row.batchName })}
          onClick={() => onOpen('codes')}
        >
          {t.stock.exportCodes}
        </Button>
      )}
    </Group>
  )
}

/** The label of the button that sets the alert. */
function alertText({ alertDays }: StockBatchRow): string {
  return alertDays === null ? t.stock.setAlert : plural(t.stock.daysBefore, alertDays)
}

function batchPath({ supplier, batchId }: StockBatchRow): string {
  return `/stock/${encodeURIComponent(supplier)}/batches/${batchId}`
}

function NextExpiry({ row: { nextExpiry, expiring } }: { row: StockBatchRow }) {
  if (nextExpiry === null) return <>{t.stock.never}</>
  if (expiring === 0) return <Timestamp time={nextExpiry} />
  return (
    <strong className="negative">
      <Timestamp time={nextExpiry} /> {interpolate(t.stock.expiringSoon, { count: formatCount(expiring) })}
    </strong>
  )
}

function AlertDialog({ batch, onClose }: { batch: StockBatchRow; onClose(): void }) {
  const set = useChange({ success: t.common.saved, quiet: true })
  return (
    <Dialog
      title={interpolate(t.stock.alertOf, { batch: batch.batchName })}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={set.isPending}
      error={set.error}
      onSubmit={({ alertDays }) =>
        set.mutate(
          {
            method: 'PUT',
            path: `${batchPath(batch)}/alert`,
            body: { alertDays: alertDays === undefined ? null : Number(alertDays) },
          },
          { onSuccess: onClose },
        )
      }
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
    </Dialog>
  )
}

function ExpiryDialog({ batch, onClose }: { batch: StockBatchRow; onClose(): void }) {
  const set = useChange<{ codes: number }>({ quiet: true })
  return (
    <Dialog
      title={interpolate(t.stock.setExpiryOf, { batch: batch.batchName })}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={set.isPending}
      error={set.error}
      onSubmit={({ expiresOn }) =>
        set.mutate(
          {
            method: 'PUT',
            path: `${batchPath(batch)}/expiry`,
            body: { expiresAt: expiresOn === undefined ? null : `${expiresOn}T00:00:00.000Z` },
          },
          {
            onSuccess({ codes }) {
              notifySuccess(plural(t.stock.expirySet, codes))
              onClose()
            },
          },
        )
      }
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
    </Dialog>
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
      title={interpolate(t.stock.exportCodesOf, { batch: batch.batchName })}
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
