import type { RecoveryView } from '@dealer-esim/gateway/http/console/operations/recovery.ts'
import { Alert, List as Bullets, Button, Code, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatDateTime } from '#parts/format.ts'
import { actionsColumn, moneyColumn, RowButton, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Card, Page } from '#parts/page.tsx'
import { type Column, List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { interpolate, t } from '#strings/strings.ts'

type Part<Name extends keyof RecoveryView> = RecoveryView[Name] extends (infer Row)[] ? Row : never
type Dealer = Part<'dealers'>

/** After a restore: ours, theirs, in doubt, with what to do about each, and the release of dealers. */
export function RecoveryPage() {
  const { data, isFetching, error, refetch } = useApi<RecoveryView>('/recovery')
  const mayRelease = isOperatorAdmin(useSession())
  const [released, setReleased] = useState<Dealer | 'all'>()
  const recovery = data?.recovery
  const listProps = { loading: isFetching, error, retry: refetch }
  return (
    <Page
      title={t.recovery.title}
      description={t.recovery.text}
      actions={recovery && mayRelease && <Button onClick={() => setReleased('all')}>{t.recovery.releaseAll}</Button>}
    >
      {recovery === null && <Alert color="green">{t.recovery.none}</Alert>}
      {recovery && (
        <Alert color="orange" role="alert">
          {interpolate(recovery.preparedAt === null ? t.recovery.unprepared : t.recovery.active, {
            from: formatDateTime(recovery.backupStartedAt),
            to: formatDateTime(recovery.restoredAt),
          })}
        </Alert>
      )}
      {data && data.omitted > 0 && <Hint>{interpolate(t.recovery.omitted, { omitted: data.omitted })}</Hint>}
      <Section<Part<'suppliers'>>
        {...{ listProps, part: t.recovery.suppliers, rows: data?.suppliers, idOf: (row) => row.supplier }}
        columns={[
          valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
          { accessor: 'state', title: t.recovery.state, wraps: true, render: (row) => t.recovery.states[row.state] },
        ]}
      />
      <Section<Part<'openOrders'>>
        {...{ listProps, part: t.recovery.ours, rows: data?.openOrders, idOf: (row) => row.orderNo }}
        to={(row) => `/tenants/${row.tenantId}/orders/${row.orderNo}`}
        columns={[
          valueColumn('orderNo', t.esims.order, (row) => row.orderNo),
          { accessor: 'suppliers', title: t.orders.supplier, render: (row) => row.suppliers.join(', ') },
        ]}
      />
      <Section<Part<'openActions'>>
        {...{ listProps, part: t.recovery.actions, rows: data?.openActions, idOf: (row) => row.actionNo }}
        to={(row) => `/tenants/${row.tenantId}/profiles/${row.profileId}`}
        columns={[
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
          { accessor: 'action', title: t.esims.action, render: (row) => t.esims.actions[row.action] },
          valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
        ]}
      />
      <Section<Part<'theirs'>>
        {...{
          listProps,
          part: t.recovery.theirs,
          rows: data?.theirs,
          idOf: (row) => `${row.supplier} ${row.key} ${row.iccid}`,
        }}
        columns={[
          valueColumn('key', t.recovery.key, (row) => row.key),
          valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
          timeColumn('foundAt', t.recovery.found),
        ]}
      />
      <Section<Part<'transactions'>>
        {...{ listProps, part: t.recovery.transactions, rows: data?.transactions }}
        idOf={(row) => `${row.tenantId} ${row.transactionId}`}
        to={(row) => `/tenants/${row.tenantId}`}
        columns={[
          valueColumn('transactionId', t.recovery.transactionId, (row) => row.transactionId),
          { accessor: 'state', title: t.recovery.state, render: (row) => t.recovery.transactionStates[row.state] },
          { accessor: 'orderNo', title: t.esims.order, render: (row) => row.orderNo ?? '–' },
          moneyColumn('amount', t.recovery.amount),
          { accessor: 'proof', title: t.recovery.proof, wraps: true, render: (row) => row.proof ?? '–' },
        ]}
      />
      <Section<Part<'batches'>>
        {...{ listProps, part: t.recovery.batches, rows: data?.batches, idOf: (row) => row.batchId }}
        columns={[
          valueColumn('batchName', t.recovery.batch, (row) => row.batchName),
          valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
          { accessor: 'batchId', title: t.recovery.batchId, cellsClassName: 'mono' },
          { accessor: 'held', title: t.recovery.held, textAlign: 'right', render: (row) => row.held },
        ]}
      />
      <Section<Dealer>
        {...{ listProps, part: t.recovery.dealers, rows: data?.dealers, idOf: (row) => row.tenantId }}
        to={(row) => `/tenants/${row.tenantId}`}
        columns={[
          valueColumn('clientName', t.recovery.dealer, (row) => row.clientName),
          {
            accessor: 'listed',
            title: t.recovery.list,
            render: (row) => (row.listed ? t.recovery.listRead : t.recovery.listMissing),
          },
          {
            accessor: 'released',
            title: t.recovery.state,
            render: (row) => (row.released ? t.recovery.released : t.recovery.heldDealer),
          },
          actionsColumn((row) =>
            mayRelease && !row.released ? (
              <RowButton label={t.recovery.release} of={row.clientName} onClick={() => setReleased(row)} />
            ) : null,
          ),
        ]}
      />
      {released && (
        <ReleaseDialog {...{ released, doubts: data?.doubts ?? [] }} onClose={() => setReleased(undefined)} />
      )}
    </Page>
  )
}

interface SectionProps<Row> {
  listProps: { loading: boolean; error: Error | null; retry(): unknown }
  part: { title: string; text: string; command?: string; empty: string }
  rows: Row[] | undefined
  idOf(row: Row): string
  to?(row: Row): string
  columns: Column<Row>[]
}

/** A part of the report, with what to do about it. */
function Section<Row>({ listProps, part, rows, ...list }: SectionProps<Row>) {
  return (
    <Card title={part.title}>
      <Hint>{part.text}</Hint>
      {part.command && rows && rows.length > 0 && <Code block>{part.command}</Code>}
      <List<Row> label={part.title} rows={rows} empty={{ title: part.empty }} {...listProps} {...list} />
    </Card>
  )
}

/** Asks why doubts are accepted, if there are any. */
function ReleaseDialog(props: { released: Dealer | 'all'; doubts: string[]; onClose(): void }) {
  const { released, doubts, onClose } = props
  const title =
    released === 'all' ? t.recovery.releaseAll : interpolate(t.recovery.releaseOf, { dealer: released.clientName })
  return (
    <ChangeDialog
      title={title}
      submit={t.recovery.release}
      success={t.recovery.releasedNow}
      danger={doubts.length > 0}
      onClose={onClose}
      request={({ acceptedDoubt }) => ({
        method: 'POST',
        path: '/recovery/release',
        body: {
          ...(released !== 'all' && { tenantIds: [released.tenantId] }),
          ...(acceptedDoubt && { acceptedDoubt }),
        },
      })}
    >
      <Text size="sm">{t.recovery.releaseText}</Text>
      {doubts.length > 0 && (
        <>
          <Bullets size="sm">
            {doubts.map((doubt) => (
              <Bullets.Item key={doubt}>{doubt}</Bullets.Item>
            ))}
          </Bullets>
          <Textarea name="acceptedDoubt" label={t.recovery.accept} minLength={3} autosize />
        </>
      )}
    </ChangeDialog>
  )
}
