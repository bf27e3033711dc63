import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { t } from '../strings/index.ts'
import { fieldsOf } from './proof.tsx'

interface DialogProps {
  title: string
  opened: boolean
  onClose(): void
  /** Gets the fields by their names. The dialog stays until the caller closes it. */
  onSubmit(fields: Record<string, string>): void
  submit: string
  busy?: boolean
  error?: Error | null
  danger?: boolean
  children?: ReactNode
}

/** A question with a form: Enter submits, Escape closes. */
export function Dialog(props: DialogProps) {
  const { title, opened, onClose, onSubmit, submit, busy, error, danger, children } = props
  return (
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit(fieldsOf(event.currentTarget))
        }}
      >
        <Stack gap="md">
          {children}
          {error && (
            <Alert color="red" role="alert">
              {error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={busy ?? false} {...(danger && { color: 'red' })}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
