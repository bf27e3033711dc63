import { useSyncExternalStore } from 'react'

/*
 * AppSecrets that somebody has shown or pasted, by tenant: in this page's memory, until it is left or the session ends.
 * Never in an address, in storage or in a cookie.
 */
const secrets = new Map<string, string>()
const listeners = new Set<() => void>()

export function rememberSecret(tenantId: string, secret: string | undefined): void {
  if (secret === undefined || secret === '') secrets.delete(tenantId)
  else secrets.set(tenantId, secret)
  for (const listener of listeners) listener()
}

export function forgetSecrets(): void {
  secrets.clear()
  for (const listener of listeners) listener()
}

export function useSecret(tenantId: string): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => secrets.get(tenantId),
  )
}
