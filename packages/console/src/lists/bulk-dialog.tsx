import { Button, Group, Modal, Progress, Stack, Table, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { call } from '#api/call-api.ts'
import type { Change } from '#api/use-api.ts'
import { useReturnFocus } from '#parts/dialog.tsx'
import { formFields } from '#parts/form-values.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { formatMessage, t } from '#strings/strings.ts'

/** An operation on one row, offered for all selected rows. */
export interface BulkAction<Row> {
  label: string
  /** Describes the operation before it starts. */
  text?: string
  danger?: boolean
  /** Fields that all rows share. */
  fields?: ReactNode
  /** Why a row is skipped; undefined if it is changed. */
  skip?(row: Row): string | undefined
  change(row: Row, fields: Record<string, string>): Change
}

export interface BulkDialogProps<Row> {
  rows: Row[]
  idOf(row: Row): string
  nameOf(row: Row): string
  action: BulkAction<Row>
  onClose(): void
}

/** A row's result; absent: not tried yet. */
type Result = { failure: string | undefined }

/**
 * Shows which rows an operation changes and which it skips, then runs it row by row, through the route that changes a
 * single row: the same permissions, checks and audit entries apply. A failure affects only its row.
 */
export default function BulkDialog<Row>({ rows, idOf, nameOf, action, onClose }: BulkDialogProps<Row>) {
  useReturnFocus(true)
  const client = useQueryClient()
  // The rows as selected: the list behind the dialog may reload.
  const [all] = useState(rows)
  const [results, setResults] = useState<Record<string, Result>>({})
  const [state, setState] = useState<'preview' | 'running' | 'done'>('preview')
  const stopped = useRef(false)
  const changed: Row[] = []
  const skippedFor = new Map<string, number>()
  for (const row of all) {
    const reason = action.skip?.(row)
    if (reason === undefined) changed.push(row)
    else skippedFor.set(reason, (skippedFor.get(reason) ?? 0) + 1)
  }
  const finished = Object.values(results)
  const failures = finished.filter(({ failure }) => failure !== undefined).length

  async function run(fields: Record<string, string>) {
    setState('running')
    for (const row of changed) {
      if (stopped.current) break
      const { method, path, body } = action.change(row, fields)
      const failure = await call(method, path, { body }).then(
        () => undefined,
        (error: Error) => error.message,
      )
      setResults((before) => ({ ...before, [idOf(row)]: { failure } }))
    }
    setState('done')
    await client.invalidateQueries()
  }

  return (
    <Modal
      opened
      size="lg"
      onClose={() => state === 'running' || onClose()}
      title={action.label}
      closeButtonProps={{ 'aria-label': t.common.close, disabled: state === 'running' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run(formFields(event.currentTarget))
        }}
      >
        <Stack>
          {action.text && <Text size="sm">{action.text}</Text>}
          <Text size="sm" fw={600}>
            {formatMessage(t.lists.bulk.applies, { count: changed.length })}
          </Text>
          {[...skippedFor].map(([reason, count]) => (
            <Text key={reason} size="sm" c="dimmed">
              {formatMessage(t.lists.bulk.skipped, { count, reason })}
            </Text>
          ))}
          {state === 'preview' && action.fields}
          {state !== 'preview' && (
            <>
              <Progress
                value={(100 * finished.length) / Math.max(changed.length, 1)}
                {...(failures > 0 && { color: 'orange' })}
                aria-label={t.lists.bulk.result}
              />
              <Text size="sm" role="status" data-bulk-progress>
                {formatMessage(t.lists.bulk.progress, { done: finished.length, all: changed.length })}
              </Text>
              {failures > 0 && <ErrorText>{formatMessage(t.lists.bulk.failed, { count: failures })}</ErrorText>}
            </>
          )}
          <Table.ScrollContainer minWidth={0} mah={280} type="native">
            <Table aria-label={t.lists.bulk.result}>
              <Table.Tbody>
                {changed.map((row) => (
                  <Table.Tr key={idOf(row)} data-bulk-row={idOf(row)}>
                    <Table.Td className="break">{nameOf(row)}</Table.Td>
                    <Table.Td>
                      <RowResult result={results[idOf(row)]} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          <Group justify="flex-end">
            {state === 'preview' && (
              <>
                <Button variant="default" onClick={onClose}>
                  {t.common.cancel}
                </Button>
                <Button type="submit" disabled={changed.length === 0} {...(action.danger && { color: 'red' })}>
                  {t.lists.bulk.start}
                </Button>
              </>
            )}
            {state === 'running' && (
              <Button
                variant="default"
                onClick={() => {
                  stopped.current = true
                }}
              >
                {t.lists.bulk.stop}
              </Button>
            )}
            {state === 'done' && <Button onClick={onClose}>{t.common.close}</Button>}
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function RowResult({ result }: { result: Result | undefined }) {
  if (result === undefined) return null
  if (result.failure === undefined) return <Text size="sm">{t.lists.bulk.done}</Text>
  return (
    <Text size="sm" className="negative">
      {result.failure}
    </Text>
  )
}
