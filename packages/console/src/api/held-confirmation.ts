import { useSyncExternalStore } from 'react'
import { ApiError, call } from './call-api.ts'

/*
 * The confirmation that the gateway returns after the password and a code, a passkey, or a sign-in at the provider. It
 * replaces them for five minutes. It is kept only in memory, so stealing the cookie does not suffice.
 */
let held: { confirmation: string; timer: ReturnType<typeof setTimeout> } | undefined
const listeners = new Set<() => void>()

/**
 * A little less than the gateway's five minutes, so that a form does not show a confirmation that has expired by the time
 * it is sent.
 */
const HELD_MS = 290_000

export function holdConfirmation(confirmation: string): void {
  forgetConfirmation()
  held = { confirmation, timer: setTimeout(forgetConfirmation, HELD_MS) }
  for (const listener of listeners) listener()
}

export function forgetConfirmation(): void {
  clearTimeout(held?.timer)
  held = undefined
  for (const listener of listeners) listener()
}

export function useConfirmation(): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => held?.confirmation,
  )
}

/** The credentials of a form, as ReauthenticationFields names them. */
interface Credentials {
  password?: string
  code?: string
  confirmation?: string
}

/**
 * Confirms the person first, so that a form that the gateway refuses does not use up a code and can be sent again without
 * one.
 */
export async function confirmFirst(body: unknown): Promise<unknown> {
  if (!hasPassword(body)) return body
  const { password, code, ...rest } = body
  const credentials = { password, ...(code !== undefined && { code }) }
  const { confirmation } = await call<{ confirmation: string }>('POST', '/account/confirm/password', {
    body: credentials,
  })
  holdConfirmation(confirmation)
  return { ...rest, confirmation }
}

/** A form that chooses a new password sends the old one itself. */
function hasPassword(body: unknown): body is Credentials & { password: string } {
  const { password, newPassword } = (body ?? {}) as Record<string, unknown>
  return typeof password === 'string' && newPassword === undefined
}

/** Forgets a confirmation that the gateway no longer accepts, so that the form asks for the password again. */
export function noticeRefusal(error: unknown): void {
  if (error instanceof ApiError && error.code === 'CONFIRMATION_DEAD') forgetConfirmation()
}
