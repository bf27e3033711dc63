import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '#strings/strings.ts'
import { formatCount } from './format.ts'
import type { Column } from './record-list.tsx'
import { Amount, Status, Timestamp } from './values.tsx'

/*
 * Columns of lists: `countColumn('codes', t.stock.codes)`.
 */

/** The members of a row that have this type. */
type MembersOf<Row, Value> = { [Name in keyof Row]: Row[Name] extends Value ? Name : never }[keyof Row] & string
type Time = string | null | undefined

export function valueColumn<Row>(
  accessor: string,
  title: string,
  render: (row: Row) => ReactNode,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { accessor, title, render, ...more }
}

/** Aligned to the right, as figures are. */
export function figureColumn<Row>(...column: Parameters<typeof valueColumn<Row>>): Column<Row> {
  return { textAlign: 'right', ...valueColumn(...column) }
}

export function timeColumn<Row>(accessor: MembersOf<Row, Time>, title: string, more?: Partial<Column<Row>>) {
  return valueColumn<Row>(accessor, title, (row) => <Timestamp time={row[accessor] as Time} />, more)
}

/** Such as `2 hours ago`; the exact time is shown on hover. */
export function relativeTimeColumn<Row>(accessor: MembersOf<Row, Time>, title: string, more?: Partial<Column<Row>>) {
  return valueColumn<Row>(accessor, title, (row) => <Timestamp time={row[accessor] as Time} format="relative" />, more)
}

export function countColumn<Row>(accessor: MembersOf<Row, number>, title: string, more?: Partial<Column<Row>>) {
  return figureColumn<Row>(accessor, title, (row) => formatCount(row[accessor] as number), more)
}

/** An amount in the currency of its row. */
export function moneyColumn<Row extends { currencyCode: string }>(
  accessor: MembersOf<Row, number | null>,
  title: string,
  more?: Partial<Column<Row>>,
): Column<Row> {
  const render = (row: Row) => <Amount value={row[accessor] as number | null} currency={row.currencyCode} />
  return figureColumn(accessor, title, render, { currency: (row) => row.currencyCode, ...more })
}

export function statusColumn<Row>(accessor: MembersOf<Row, string | null>, title: string, more?: Partial<Column<Row>>) {
  return valueColumn<Row>(accessor, title, (row) => <Status status={row[accessor] as string | null} />, more)
}

/** The buttons of a row. */
export function actionsColumn<Row>(render: (row: Row) => ReactNode, more?: Partial<Column<Row>>): Column<Row> {
  return figureColumn('actions', t.common.actions, render, more)
}

interface RowButtonProps {
  label: string
  /** The object of the action, for screen readers: "Remove: USD EUR". */
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
