import { Alert, Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { t } from '../strings/strings.ts'
import { formFields } from './form-values.ts'

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

/**
 * A question with a form: Enter submits, Escape closes. Nothing closes it while it is busy: that would look like a cancel
 * of what goes on, and an answer that is shown only once would be lost.
 */
export function Dialog(props: DialogProps) {
  const { title, opened, onClose, onSubmit, submit, busy = false, error, danger, children } = props
  useReturnFocus(opened)
  return (
    <Modal
      opened={opened}
      onClose={() => busy || onClose()}
      title={title}
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
            <Button variant="default" disabled={busy} onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={busy} {...(danger && { color: 'red' })}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** Why something is done, for whoever asks later. Name: reason. */
export function ReasonField() {
  return (
    <TextInput
      name="reason"
      label={t.common.reason}
      description={t.common.reasonHint}
      required
      minLength={3}
      maxLength={300}
      data-autofocus
    />
  )
}

/**
 * Gives the focus back to what had it before, where closing has left it nowhere: a dialog that is gone at once, as most
 * are, cannot do so itself.
 */
function useReturnFocus(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    const before = lastFocused
    return () => void setTimeout(() => document.activeElement === document.body && before?.focus())
  }, [opened])
}

// The dialog has taken the focus when it is first asked: so it is remembered outside of dialogs.
let lastFocused: HTMLElement | undefined

document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && !target.closest('[role=dialog]')) lastFocused = target
})
