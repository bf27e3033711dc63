import { type PreparedSecret, prepareSecret } from '@dealer-esim/contract/node'
import type { TenantSecret } from './load.ts'

/** A secret ready to verify and to sign with, made once for as long as it is remembered. */
export function prepared(secret: TenantSecret): PreparedSecret {
  const known = preparedSecrets.get(secret)
  if (known) return known
  const made = prepareSecret(secret.secret)
  preparedSecrets.set(secret, made)
  return made
}

const preparedSecrets = new WeakMap<TenantSecret, PreparedSecret>()
