import type { RecoveryView } from '@dealer-esim/gateway/http/console/operations/recovery.ts'
import { Button, Group, Text } from '@mantine/core'
import { actionsColumn, countColumn, moneyColumn, RowButton, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { type Column, List, type ListQuery } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import type { Doing, Part } from './recovery-dialogs.tsx'

type Act = ((doing: Doing) => void) | undefined

interface SectionsProps<Name extends keyof RecoveryView> {
  query: ListQuery
  rows: Part<Name>[] | undefined
}

/** act: opens the dialog of what is done about a row; undefined: the person may only look. */
type ActingProps<Name extends keyof RecoveryView> = SectionsProps<Name> & { act: Act }

export function Suppliers({ query, rows, act }: ActingProps<'suppliers'>) {
  return (
    <Section<Part<'suppliers'>>
      {...{ query, part: t.recovery.suppliers, rows: rows, idOf: (row) => row.supplier }}
      columns={[
        valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
        valueColumn('state', t.recovery.state, (row) => row.evidence ?? supplierState(row), { wraps: true }),
        actionsColumn((row) =>
          act && row.evidence === null && row.state !== 'STOCK' ? (
            <RowButton
              label={t.recovery.settle}
              of={row.supplier}
              onClick={() => act({ kind: 'settle', supplier: row.supplier })}
            />
          ) : null,
        ),
      ]}
    />
  )
}

function supplierState({ state, unreadable }: Part<'suppliers'>): string {
  return state === 'COMPARED' && unreadable > 0
    ? formatMessage(t.recovery.unreadable, { count: unreadable })
    : t.recovery.states[state]
}

export function OpenOrders({ query, rows }: SectionsProps<'openOrders'>) {
  return (
    <Section<Part<'openOrders'>>
      {...{ query, part: t.recovery.ours, rows: rows, idOf: (row) => row.orderNo }}
      to={(row) => `/tenants/${row.tenantId}/orders/${row.orderNo}`}
      columns={[
        valueColumn('orderNo', t.esims.order, (row) => row.orderNo),
        { accessor: 'suppliers', title: t.orders.supplier, render: (row) => row.suppliers.join(', ') },
      ]}
    />
  )
}

export function OpenActions({ query, rows }: SectionsProps<'openActions'>) {
  return (
    <Section<Part<'openActions'>>
      {...{ query, part: t.recovery.actions, rows: rows, idOf: (row) => row.actionNo }}
      to={(row) => `/tenants/${row.tenantId}/profiles/${row.profileId}`}
      columns={[
        { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
        { accessor: 'action', title: t.esims.action, render: (row) => t.esims.actions[row.action] },
        valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
      ]}
    />
  )
}

export function Theirs({ query, rows, act }: ActingProps<'theirs'>) {
  return (
    <Section<Part<'theirs'>>
      {...{
        query,
        part: t.recovery.theirs,
        rows: rows,
        idOf: (row) => `${row.supplier} ${row.key} ${row.iccid}`,
      }}
      columns={[
        valueColumn('key', t.recovery.key, (row) => row.key, { wraps: true }),
        valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
        { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
        timeColumn('foundAt', t.recovery.found),
        valueColumn('evidence', t.orders.evidence, (row) => row.evidence ?? '–', { wraps: true }),
        actionsColumn((row) =>
          act && row.evidence === null ? (
            <RowButton
              label={t.recovery.settle}
              of={row.iccid}
              onClick={() => act({ kind: 'settle', supplier: row.supplier, iccid: row.iccid })}
            />
          ) : null,
        ),
      ]}
    />
  )
}

export function Transactions({ query, rows, act }: ActingProps<'transactions'>) {
  return (
    <Section<Part<'transactions'>>
      {...{ query, part: t.recovery.transactions, rows: rows }}
      idOf={(row) => `${row.tenantId} ${row.transactionId}`}
      to={(row) => `/tenants/${row.tenantId}`}
      columns={[
        valueColumn('transactionId', t.recovery.transactionId, (row) => row.transactionId),
        { accessor: 'state', title: t.recovery.state, render: (row) => t.recovery.transactionStates[row.state] },
        { accessor: 'orderNo', title: t.esims.order, render: (row) => row.orderNo ?? '–' },
        moneyColumn('amount', t.recovery.amount),
        { accessor: 'proof', title: t.recovery.proof, wraps: true, render: (row) => row.proof ?? '–' },
        actionsColumn((row) =>
          act ? (
            <RowButton
              label={t.recovery.decide}
              of={row.transactionId}
              onClick={() => act({ kind: 'decide', transaction: row })}
            />
          ) : null,
        ),
      ]}
    />
  )
}

/** What dealers owe for orders that were sold before the restore. */
export function Debits({ query, rows }: SectionsProps<'debits'>) {
  return (
    <Section<Part<'debits'>>
      {...{ query, part: t.recovery.debits, rows: rows, idOf: (row) => `${row.tenantId} ${row.transactionId}` }}
      to={(row) => `/tenants/${row.tenantId}`}
      columns={[
        valueColumn('clientName', t.recovery.dealer, (row) => row.clientName),
        valueColumn('transactionId', t.recovery.transactionId, (row) => row.transactionId),
        moneyColumn('amount', t.recovery.amount),
        { accessor: 'reference', title: t.recovery.reference, cellsClassName: 'mono' },
        { accessor: 'state', title: t.recovery.state, render: (row) => t.recovery.debitStates[row.state] },
      ]}
    />
  )
}

export function Batches({ query, rows, act }: ActingProps<'batches'>) {
  return (
    <Section<Part<'batches'>>
      {...{ query, part: t.recovery.batches, rows: rows, idOf: (row) => row.batchId }}
      columns={[
        valueColumn('batchName', t.recovery.batch, (row) => row.batchName),
        valueColumn('supplier', t.orders.supplier, (row) => row.supplier),
        { accessor: 'batchId', title: t.recovery.batchId, cellsClassName: 'mono' },
        countColumn('held', t.recovery.held),
        actionsColumn((row) =>
          act ? (
            <RowButton
              label={t.recovery.saySold}
              of={row.batchName}
              onClick={() => act({ kind: 'stock', batch: row })}
            />
          ) : null,
        ),
      ]}
    />
  )
}

export function Dealers({ query, rows, act, doubts }: ActingProps<'dealers'> & { doubts: string[] }) {
  return (
    <Section<Part<'dealers'>>
      {...{ query, part: t.recovery.dealers, rows: rows, idOf: (row) => row.tenantId }}
      to={(row) => `/tenants/${row.tenantId}`}
      columns={[
        valueColumn('clientName', t.recovery.dealer, (row) => row.clientName),
        valueColumn('listed', t.recovery.list, (row) => (row.listed ? t.recovery.listRead : t.recovery.listMissing)),
        valueColumn('released', t.recovery.state, (row) =>
          row.released ? t.recovery.released : t.recovery.heldDealer,
        ),
        actionsColumn((row) =>
          act && !row.released ? (
            <Group gap="xs" wrap="nowrap" justify="flex-end">
              <RowButton
                label={t.recovery.matchList}
                of={row.clientName}
                onClick={() => act({ kind: 'list', dealer: row })}
              />
              <RowButton
                label={t.recovery.release}
                of={row.clientName}
                onClick={() => act({ kind: 'release', dealer: row, doubts })}
              />
            </Group>
          ) : null,
        ),
      ]}
    />
  )
}

interface SectionProps<Row> {
  query: ListQuery
  part: { title: string; text: string; empty: string }
  rows: Row[] | undefined
  idOf(row: Row): string
  to?(row: Row): string
  columns: Column<Row>[]
}

/** A part of the report, with what to do about it. */
function Section<Row>({ part, ...list }: SectionProps<Row>) {
  return (
    <Card title={part.title}>
      <Hint>{part.text}</Hint>
      <List<Row> label={part.title} isOfTasks empty={{ title: part.empty }} {...list} />
    </Card>
  )
}

/** Credits that the database lost, which no supplier and no dealer's list proves. */
export function Credits({ recovery, act }: { recovery: NonNullable<RecoveryView['recovery']>; act: Act }) {
  const evidence = recovery.creditsEvidence
  return (
    <Card title={t.recovery.creditsTitle}>
      <Text size="sm">
        {evidence === null ? t.recovery.credits : formatMessage(t.recovery.creditsSettled, { evidence })}
      </Text>
      {act && evidence === null && (
        <Group mt="sm">
          <Button variant="default" onClick={() => act({ kind: 'credits' })}>
            {t.recovery.settle}
          </Button>
        </Group>
      )}
    </Card>
  )
}

/** Doubts with which dealers were released: they stay after the recovery. */
export function Accepted({ query, rows }: { query: ListQuery; rows: Part<'accepted'>[] }) {
  const part = { title: t.recovery.acceptedTitle, text: t.recovery.acceptedText, empty: t.recovery.none }
  return (
    <Section<Part<'accepted'>>
      {...{ query, part, rows, idOf: (row) => `${row.acceptedAt} ${row.tenantIds?.join() ?? ''}` }}
      columns={[
        timeColumn('acceptedAt', t.recovery.at),
        valueColumn('tenantIds', t.recovery.dealers.title, (row) =>
          row.tenantIds === null
            ? t.recovery.acceptedAll
            : formatMessage(t.recovery.acceptedSome, { count: row.tenantIds.length }),
        ),
        valueColumn('because', t.recovery.because, (row) => row.because, { wraps: true }),
        valueColumn('doubts', t.recovery.doubt, (row) => row.doubts.join(' '), { wraps: true }),
      ]}
    />
  )
}
