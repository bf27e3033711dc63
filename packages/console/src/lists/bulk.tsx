import { Button, Group, Text } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { formatMessage, t } from '#strings/strings.ts'
import type { BulkAction, BulkDialogProps } from './bulk-dialog.tsx'

/** Its type parameter is lost in lazy(): a row is of any type there, and the list's here. */
const BulkDialog = lazy(() => import('./bulk-dialog.tsx')) as unknown as <Row>(props: BulkDialogProps<Row>) => ReactNode

interface BulkProps<Row> {
  rows: Row[]
  idOf(row: Row): string
  nameOf(row: Row): string
  actions: BulkAction<Row>[]
  onClear(): void
}

/** The bar above a list while rows are selected. */
export function Bulk<Row>(props: BulkProps<Row>) {
  const { rows, actions, onClear } = props
  const [action, setAction] = useState<BulkAction<Row>>()
  return (
    <Group gap="xs" className="list-bar" data-bulk>
      <Text size="sm" fw={600}>
        {formatMessage(t.lists.bulk.selected, { count: rows.length })}
      </Text>
      {actions.map((one) => (
        <Button
          key={one.label}
          size="xs"
          variant="default"
          {...(one.danger && { c: 'var(--bad)' })}
          onClick={() => setAction(one)}
        >
          {one.label}
        </Button>
      ))}
      <Button size="xs" variant="subtle" onClick={onClear}>
        {t.lists.bulk.clear}
      </Button>
      <Suspense>{action && <BulkDialog {...props} action={action} onClose={() => setAction(undefined)} />}</Suspense>
    </Group>
  )
}
