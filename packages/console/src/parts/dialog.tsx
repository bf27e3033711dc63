import { Alert, Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { t } from '#strings/strings.ts'
import { formFields } from './form-values.ts'

interface DialogProps {
  title: string
  opened: boolean
  onClose(): void
  /** Gets the fields by name. The dialog stays open until the caller closes it. */
  onSubmit(fields: Record<string, string>): void
  submit: string
  busy?: boolean
  error?: Error | null
  danger?: boolean
  /** The label of the button that closes, if there is nothing to cancel any more. */
  closing?: string | undefined
  /** false: the submit button is the only one besides the X. */
  hasCancel?: boolean
  /** lg: for a table. */
  size?: 'md' | 'lg'
  children?: ReactNode
}

/**
 * A dialog with a form: Enter submits, Escape closes. It cannot be closed while a request is running: closing would look
 * like cancelling the request, and a response that is shown only once would be lost.
 */
export function Dialog(props: DialogProps) {
  const { title, opened, onClose, onSubmit, submit, busy = false, error, danger, children } = props
  const { closing = t.common.cancel, hasCancel = true, size = 'md' } = props
  useReturnFocus(opened)
  return (
    <Modal
      opened={opened}
      onClose={() => busy || onClose()}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': t.common.close, disabled: busy }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit(formFields(event.currentTarget))
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
            {hasCancel && (
              <Button variant="default" disabled={busy} onClick={onClose}>
                {closing}
              </Button>
            )}
            <Button type="submit" loading={busy} {...(danger && { color: 'red' })}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** The reason for a change, for the audit log. Field name: reason. */
export function ReasonField({ hint = t.common.reasonHint, maxLength = 300 }: { hint?: string; maxLength?: number }) {
  return (
    <TextInput
      name="reason"
      label={t.common.reason}
      description={hint}
      required
      minLength={3}
      maxLength={maxLength}
      data-autofocus
    />
  )
}

/**
 * Returns the focus to the element that had it before. Mantine's Modal does so only if it stays mounted while closing,
 * but most of our dialogs are unmounted at once.
 */
export function useReturnFocus(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    const before = lastFocused
    return () => void setTimeout(() => document.activeElement === document.body && before?.focus())
  }, [opened])
}

// By the time a dialog's effect runs, it has already taken the focus, so the last focus outside of dialogs is recorded.
let lastFocused: HTMLElement | undefined

document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && !target.closest('[role=dialog]')) lastFocused = target
})
