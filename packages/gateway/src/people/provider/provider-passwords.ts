import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Config } from '#platform/config/config.ts'
import { normalEmail, type Person } from '../person.ts'

export type PasswordConfig = Pick<Config, 'oidcIssuer' | 'oidcName' | 'oidcDomains' | 'oidcPasswords'>

/**
 * Checks that a person may use a password. With OIDC_PASSWORDS=off, people with addresses in OIDC_DOMAINS sign in through
 * the provider or with a passkey, whether or not the address is known, unless the command line has allowed a password for
 * some hours.
 * @throws Refusal PASSWORDS_OFF
 */
export function checkPasswordAllowed(
  config: PasswordConfig,
  email: string,
  person: Pick<Person, 'passwordAllowedUntil'> | undefined,
  nowMs: number,
): void {
  if (!isPasswordOff(config, email, person, nowMs)) return
  const provider = providerName(config)
  const message = `People of ${domainOf(email)} do not sign in with a password. Sign in with ${provider}, or with a passkey.`
  throw new Refusal(403, 'PASSWORDS_OFF', message)
}

export function isPasswordOff(
  { oidcIssuer, oidcDomains, oidcPasswords }: PasswordConfig,
  email: string,
  person: Pick<Person, 'passwordAllowedUntil'> | undefined,
  nowMs: number,
): boolean {
  if (oidcIssuer === undefined || oidcPasswords !== 'off' || !oidcDomains.includes(domainOf(email))) return false
  const allowedUntil = person?.passwordAllowedUntil
  return !allowedUntil || allowedUntil.getTime() <= nowMs
}

/** The provider's name as people know it. */
export function providerName({ oidcIssuer, oidcName }: Pick<PasswordConfig, 'oidcIssuer' | 'oidcName'>): string {
  return oidcName ?? new URL(oidcIssuer!).host
}

export function domainOf(email: string): string {
  return normalEmail(email).split('@').at(-1) ?? ''
}
