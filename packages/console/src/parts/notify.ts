import { notifications } from '@mantine/notifications'
import { t } from '#strings/strings.ts'

const CLOSE = { 'aria-label': t.common.close }

export function notifySuccess(message: string): void {
  notifications.show({ message, color: 'teal', closeButtonProps: CLOSE })
}

/** Errors stay until they are closed, so that people can read them. */
export function notifyError(error: unknown): void {
  const message = error instanceof Error ? error.message : t.errors.unknown
  notifications.show({ title: t.errors.title, message, color: 'red', autoClose: false, closeButtonProps: CLOSE })
}
