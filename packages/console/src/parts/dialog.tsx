import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiError } from '#api/call-api.ts'
import { saveFile } from '#api/download.ts'
import { type Change, type ChangeOptions, useChange } from '#api/use-api.ts'
import { t } from '#strings/strings.ts'
import { formFields, labelledError } from './form-values.ts'
import { ErrorText } from './load-states.tsx'

interface DialogProps {
  title: string
  opened: boolean
  onClose(): void
  /** Receives the fields by name. The dialog stays open until the caller closes it. */
  onSubmit(fields: Record<string, string>): void
  submit: string
  busy?: boolean
  /** There is nothing to submit yet. */
  isDisabled?: boolean
  error?: Error | null
  danger?: boolean
  /** The label of the button that closes, if there is nothing to cancel any more. */
  closing?: string | undefined
  /** false if the submit button is the only one besides the X. */
  hasCancel?: boolean
  /** lg: for a table. */
  size?: 'md' | 'lg' | 'xl'
  children?: ReactNode
}

/**
 * A dialog with a form: Enter submits, Escape closes. It cannot be closed while a request is running: closing would look
 * like cancelling the request, and a response that is shown only once would be lost.
 */
export function Dialog(props: DialogProps) {
  const { title, opened, onClose, onSubmit, submit, busy = false, error, danger, children } = props
  const { closing = t.common.cancel, hasCancel = true, isDisabled = false, size = 'md' } = props
  useReturnFocus(opened)
  const form = useRef<HTMLFormElement>(null)
  return (
    <Modal
      opened={opened}
      onClose={() => busy || onClose()}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': t.common.close, disabled: busy }}
    >
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit(formFields(event.currentTarget))
        }}
      >
        <Stack gap="md">
          {children}
          {error && <ErrorText>{textOf(error, form.current)}</ErrorText>}
          <Group justify="flex-end" className="dialog-foot">
            {hasCancel && (
              <Button variant="default" disabled={busy} onClick={onClose}>
                {closing}
              </Button>
            )}
            <Button type="submit" loading={busy} disabled={isDisabled} {...(danger && { color: 'red' })}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface ChangeDialogProps<Answer> extends Omit<DialogProps, 'opened' | 'onSubmit' | 'busy' | 'error'> {
  /** The change that the fields describe. null: nothing changes, and the caller shows the errors at the fields. */
  request(fields: Record<string, string>): Change | null
  success?: ChangeOptions<Answer>['success']
  /** Called once the change is made. Default: onClose. */
  onDone?(answer: Answer, fields: Record<string, string>): void
}

/** A dialog that makes one change. It stays open if the change fails. */
export function ChangeDialog<Answer = unknown>(props: ChangeDialogProps<Answer>) {
  const { request, success, onDone = props.onClose, ...dialog } = props
  const change = useChange<Answer>({ success, quiet: true })
  function submit(fields: Record<string, string>) {
    const made = request(fields)
    if (made) change.mutate(made, { onSuccess: (answer) => onDone(answer, fields) })
  }
  return <Dialog {...dialog} opened busy={change.isPending} error={change.error} onSubmit={submit} />
}

/** Lists the faulty fields by their labels. */
function textOf(error: Error, form: HTMLFormElement | null): string {
  return (form && error instanceof ApiError && labelledError(error, form)) || error.message
}

interface ShownOnceProps {
  title: string
  opened?: boolean
  onClose(): void
  /** The button that says that the value is safe. */
  submit: string
  /** The name and content of the text file to download. */
  file: { name: string; text: string }
  children: ReactNode
}

/**
 * Shows what cannot be shown again. There is nothing left to cancel, so the dialog has no such button; if it is closed
 * before the value has been copied or downloaded, it asks first.
 */
export function ShownOnce({ title, opened = true, onClose, submit, file, children }: ShownOnceProps) {
  const [isKept, setIsKept] = useState(false)
  const [isAsking, setIsAsking] = useState(false)
  const close = () => (isKept ? onClose() : setIsAsking(true))
  function noticeCopying(event: MouseEvent) {
    if (event.target instanceof Element && event.target.closest('[data-copy]')) setIsKept(true)
  }
  return (
    <Dialog title={title} opened={opened} onClose={close} submit={submit} onSubmit={onClose} hasCancel={false}>
      <div onClickCapture={noticeCopying} onCopy={() => setIsKept(true)}>
        <Stack gap="md">
          {children}
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconDownload size={16} />}
              onClick={() => {
                saveFile(file.name, `${file.text}\n`, 'text/plain')
                setIsKept(true)
              }}
            >
              {t.common.downloadText}
            </Button>
          </Group>
        </Stack>
      </div>
      {isAsking && !isKept && (
        <Alert color="red" role="alert" title={t.common.notCopied}>
          <Stack gap="xs" align="flex-start">
            <Text size="sm">{t.common.notCopiedText}</Text>
            <Button size="xs" color="red" onClick={onClose}>
              {t.common.closeWithoutCopying}
            </Button>
          </Stack>
        </Alert>
      )}
    </Dialog>
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
 * Returns the focus to where it was before the dialog, even if that is in a dialog below it. Mantine's Modal does so only
 * if it stays mounted while closing, but most of our dialogs are unmounted immediately. If the opener is gone too, such as
 * a row of a list, the element before it gets the focus, and the page's content if none is left: never `<body>`.
 */
export function useReturnFocus(opened: boolean): void {
  useEffect(() => {
    if (!opened) return
    // The event that closes the dialog is over by then, so it does not count as the person's next one.
    return () => void setTimeout(keepFocus)
  }, [opened])
}

const REMEMBERED_MAX = 30

/** The elements that had the focus, the latest last. */
let focused: HTMLElement[] = []

/**
 * Lasts until the person's next key press or click: a dialog that fades out loses the focus when it is removed, and a
 * reloaded list may remove the opener. On a slow machine, both may happen late.
 */
function keepFocus(): void {
  const removals = new MutationObserver(restoreFocus)
  removals.observe(document.body, { subtree: true, childList: true })
  const stop = () => removals.disconnect()
  for (const action of ['keydown', 'pointerdown'])
    document.addEventListener(action, stop, { once: true, capture: true })
  restoreFocus()
}

function restoreFocus(): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return
  for (const element of focused.toReversed()) {
    if (!element.isConnected) continue
    element.focus()
    if (document.activeElement === element) return
  }
  document.getElementById('main')?.focus()
}

document.addEventListener('focusin', ({ target }) => {
  // A menu entry stays on the page while the menu fades out, but the focus cannot return to it, only to the menu's button.
  if (!(target instanceof HTMLElement) || target.closest('[role=menu]')) return
  focused = [...focused.filter((element) => element !== target && element.isConnected), target].slice(-REMEMBERED_MAX)
})
