import { readAuthorities } from '../lib/process/certificate.ts'

/* Parsers of the variables about e-mail (variables.ts). */

/** The value may contain a password, so messages never quote it. */
export function smtpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const tls = url?.searchParams.get('tls') ?? null
  const ca = url?.searchParams.get('ca') ?? null
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || (tls !== null && tls !== 'none')) {
    throw new Error('is an address like smtps://user:password@host:465 or smtp://user:password@host:587')
  }
  if (tls !== null && (ca !== null || url.protocol === 'smtps:'))
    throw new Error('has ?tls=none, which excludes TLS: remove it, or remove smtps:// and ca')
  if (ca !== null) checkAuthorities(ca)
  return value
}

function checkAuthorities(file: string): void {
  try {
    readAuthorities(file)
  } catch (error) {
    throw new Error(`has a faulty file of certificates: ${(error as Error).message}`)
  }
}

export function mailAddress(value: string): string {
  const address = /^[^<>\r\n]*<([^<>\s]+)>$/.exec(value)?.[1] ?? value
  if (!/^[^\s@<>,]+@[^\s@<>,]+$/.test(address)) {
    throw new Error(`is an address like esim@example.com or eSIM <esim@example.com>; it is “${value}”`)
  }
  return value
}

export function mailAddresses(value: string): string[] {
  const addresses = value.split(',').map((address) => address.trim())
  return addresses.filter((address) => address !== '').map(mailAddress)
}
