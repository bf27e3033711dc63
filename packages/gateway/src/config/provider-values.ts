/* Parsers of the OIDC_… variables (variables.ts). */

/** Compared with the provider's own name for itself, so it is kept as it is written. */
export function issuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new Error(`is an address like https://login.example.com; it is “${value}”`)
  return value
}

export function domains(value: string): string[] {
  const names = value.split(',').map((name) => name.trim().toLowerCase())
  for (const name of names)
    if (name !== '' && !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name))
      throw new Error(`lists domains, as in example.com, example.org; “${name}” is not one`)
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
            `is a list like esim-admins=OPERATOR_ADMIN with the roles ${GROUP_ROLES.join(', ')}; it is “${value}”`,
          )
        return [pair.slice(0, at).trim(), role] as const
      }),
  )
}

export function clientId(value: string): string {
  if (!/^[\x21-\x7e]{1,200}$/.test(value))
    throw new Error(`is up to 200 characters of ASCII without spaces; it is “${value}”`)
  return value
}

export function providerLabel(value: string): string {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} .&_-]{0,59}$/u.test(value))
    throw new Error(`is a name of up to 60 letters, digits, spaces and . & _ -; it is “${value}”`)
  return value
}
