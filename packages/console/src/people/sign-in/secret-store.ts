import { useSyncExternalStore } from 'react'

/*
 * AppSecrets that were viewed or pasted, by tenant. They are kept in memory until the console is left or the session
 * ends, and never in a URL, in storage or in a cookie.
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
