import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '#strings/strings.ts'
import { formatCount } from './format.ts'
import type { Column } from './record-list.tsx'
import { Amount, Timestamp } from './values.tsx'

/*
 * Columns that many lists have: `countColumn('codes', t.stock.codes)`.
 */

/** The members of a row that have this type. */
type MembersOf<Row, Value> = { [Name in keyof Row]: Row[Name] extends Value ? Name : never }[keyof Row] & string
type Time = string | null | undefined

export function timeColumn<Row>(
  accessor: MembersOf<Row, Time>,
  title: string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { accessor, title, render: (row) => <Timestamp time={row[accessor] as Time} />, ...more }
}

export function countColumn<Row>(
  accessor: MembersOf<Row, number>,
  title: string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { accessor, title, textAlign: 'right', render: (row) => formatCount(row[accessor] as number), ...more }
}

/** An amount in the currency of its row. */
export function moneyColumn<Row extends { currencyCode: string }>(
  accessor: MembersOf<Row, number | null>,
  title: string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  const render = (row: Row) => <Amount value={row[accessor] as number | null} currency={row.currencyCode} />
  return { accessor, title, textAlign: 'right', render, ...more }
}

/** The buttons of a row. */
export function actionsColumn<Row>(render: (row: Row) => ReactNode, more: Partial<Column<Row>> = {}): Column<Row> {
  return { accessor: 'actions', title: t.common.actions, textAlign: 'right', render, ...more }
}

interface RowButtonProps {
  label: string
  /** What it acts on, for screen readers: "Remove: USD EUR". */
  of?: string
  /** The whole name for screen readers, where label and `of` do not make a sentence. */
  name?: string
  loading?: boolean
  disabled?: boolean
  onClick(): void
}

export function RowButton({ label, of, name = of === undefined ? label : `${label}: ${of}`, ...rest }: RowButtonProps) {
  return (
    <Button size="compact-xs" variant="default" aria-label={name} {...rest}>
      {label}
    </Button>
  )
}
