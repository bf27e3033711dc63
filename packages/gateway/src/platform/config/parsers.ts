import { accessSync, constants, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readAuthorities } from '@dealer-esim/lib/process/certificate.ts'
import ipaddr from 'ipaddr.js'

/* Parsers of variables: e-mail, the identity provider (OIDC_…), cells, metrics and traces, the schema (variables.ts). */

/** The value may contain a password, so messages never quote it. */
export function smtpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const tls = url?.searchParams.get('tls') ?? null
  const ca = url?.searchParams.get('ca') ?? null
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || (tls !== null && tls !== 'none')) {
    throw new Error('must be an address like smtps://user:password@host:465 or smtp://user:password@host:587')
  }
  if (tls !== null && (ca !== null || url.protocol === 'smtps:'))
    throw new Error('has ?tls=none, which turns TLS off: remove it, or remove smtps:// and ca')
  if (ca !== null) checkAuthorities(ca)
  return value
}

function checkAuthorities(file: string): void {
  try {
    readAuthorities(file)
  } catch (error) {
    throw new Error(`has an invalid certificate file: ${(error as Error).message}`)
  }
}

export function mailAddress(value: string): string {
  const address = /^[^<>\r\n]*<([^<>\s]+)>$/.exec(value)?.[1] ?? value
  if (!/^[^\s@<>,]+@[^\s@<>,]+$/.test(address)) {
    throw new Error(`must be an address like esim@example.com or eSIM <esim@example.com>, not “${value}”`)
  }
  return value
}

export function mailAddresses(value: string): string[] {
  const addresses = value.split(',').map((address) => address.trim())
  return addresses.filter((address) => address !== '').map(mailAddress)
}

/** The provider's own identifier. It is compared, so it is kept exactly as written. */
export function issuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new Error(`must be an address like https://login.example.com, not “${value}”`)
  return value
}

export function domains(value: string): string[] {
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  for (const name of names)
    if (name !== '' && !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name))
      throw new Error(`must list domains, such as example.com, example.org; “${name}” is not a domain`)
  return names.filter((name) => name !== '')
}

const GROUP_ROLES = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const

export function groupRoles(value: string): ReadonlyMap<string, (typeof GROUP_ROLES)[number]> {
  const pairs = value.split(',').map((pair) => pair.trim())
  return new Map(
    pairs
      .filter((pair) => pair !== '')
      .map((pair) => {
        const at = pair.lastIndexOf('=')
        const role = GROUP_ROLES.find((known) => known === pair.slice(at + 1).trim())
        if (at < 1 || !role)
          throw new Error(
            `must be a list like esim-admins=OPERATOR_ADMIN with the roles ${GROUP_ROLES.join(', ')}; it is “${value}”`,
          )
        return [pair.slice(0, at).trim(), role] as const
      }),
  )
}

export function clientId(value: string): string {
  if (!/^[\x21-\x7e]{1,200}$/.test(value))
    throw new Error(`must be up to 200 ASCII characters without spaces, not “${value}”`)
  return value
}

export function providerLabel(value: string): string {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} .&_-]{0,59}$/u.test(value))
    throw new Error(`must be a name of up to 60 letters, digits, spaces and . & _ -; it is “${value}”`)
  return value
}

export function hostNames(value: string): string[] {
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  for (const name of names)
    if (!/^[a-z0-9.:_-]{0,253}$/.test(name))
      throw new Error(`must list hosts without ports, such as node1.internal, node2.internal; “${name}” is not a host`)
  return names.filter((name) => name !== '')
}

const KEY_MIN_BYTES = 32
const KEY_MAX_BYTES = 4_096

export function publicationKeyFile(value: string): string {
  const file = resolve(value)
  readPublicationKey(file)
  return file
}

/** Reads the key without the line break at its end. @throws Error whose message completes "PUBLICATION_KEY_FILE …" */
export function readPublicationKey(file: string): Buffer {
  let text: string
  try {
    text = readFileSync(file, 'latin1').trim()
  } catch {
    throw new Error(`points to ${file}, which cannot be read`)
  }
  if (text.length >= KEY_MIN_BYTES && text.length <= KEY_MAX_BYTES) return Buffer.from(text, 'latin1')
  throw new Error(
    `points to ${file}, which has ${text.length} bytes: fill it with ${KEY_MIN_BYTES} to ${KEY_MAX_BYTES} random bytes, such as those of \`openssl rand -base64 32\``,
  )
}

/** The values may be secrets, so messages never quote them. */
export function headers(value: string): Record<string, string> {
  const pairs = value.split(',').map((pair) => pair.trim())
  const entries = pairs
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const [, name = '', text = ''] = /^([A-Za-z0-9-]+)=([\x21-\x7e]*)$/.exec(pair) ?? []
      if (name === '' || /%(?![0-9A-Fa-f]{2})/.test(text)) throw new Error('must be a list like api-key=abc,tenant=t1')
      return [name.toLowerCase(), decodeURIComponent(text)]
    })
  return Object.fromEntries(entries)
}

/** PostgreSQL reserves names that start with pg_. */
export function databaseSchema(value: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(value) || value.startsWith('pg_') || value === 'information_schema') {
    throw new Error(
      `must be a name of up to 63 lower-case letters, digits and _ that begins with a letter or _ and is not reserved by PostgreSQL; it is “${value}”`,
    )
  }
  return value
}

export function readableFile(value: string): string {
  const file = resolve(value)
  try {
    accessSync(file, constants.R_OK)
  } catch {
    throw new Error(`points to ${file}, which cannot be read`)
  }
  return file
}

export function addressBlocks(value: string): string[] {
  const blocks = value.split(',').flatMap((block) => block.trim() || [])
  for (const block of blocks) {
    const [address = ''] = block.split('/')
    const plain = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
    const valid = plain && (address === block || ipaddr.isValidCIDR(block))
    if (!valid)
      throw new Error(`must list addresses and CIDR blocks, such as 10.0.0.0/8, 2001:db8::1; “${block}” is neither`)
  }
  return blocks
}
