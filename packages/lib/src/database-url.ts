import { accessSync, constants } from 'node:fs'

/** A parsed DATABASE_URL. */
export interface DatabaseAddress {
  /** One URL for each server. */
  urls: readonly string[]
  /** Connections to a server that does not accept writes are closed. */
  isPrimaryRequired: boolean
}

const TARGET = 'target_session_attrs'
/** The values that are useful for a gateway, which always writes. */
const TARGETS = ['any', 'read-write', 'primary']

/**
 * Parses a DATABASE_URL.
 * @throws Error that says what is wrong. It never quotes the URL, which may contain a password.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const [, start, hosts, rest = ''] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s.exec(text) ?? []
  const list = hosts?.split(',') ?? []
  const urls = list.map((host) => `${start}${host}${rest}`)
  if (urls.length === 0 || !urls.every((each) => URL.canParse(each))) {
    throw new Error(
      `must be an address like postgres://user:password@host:5432/database, with several servers as host1:5432,host2:5432; ${ENCODE}`,
    )
  }
  const url = new URL(urls[0]!)
  checkEncoding(url, rest)
  checkParameters(url.searchParams)
  const target = url.searchParams.get(TARGET) ?? 'any'
  if (!TARGETS.includes(target)) throw new Error(`has ${TARGET}=${target}; the gateway accepts ${TARGETS.join(', ')}`)
  if (urls.length > 1 && target === 'any')
    throw new Error(
      `lists ${urls.length} servers: add ?${TARGET}=read-write, so that connections are made to the primary`,
    )
  return { urls: urls.map(withoutTarget), isPrimaryRequired: target !== 'any' }
}

const ENCODE = 'write @ : / # ? % in the password as %40 %3A %2F %23 %3F %25'

/** A `/`, `?` or `#` in a password ends what precedes it, and the rest of the password is taken for a database. */
function checkEncoding(url: URL, rest: string): void {
  const [path = ''] = rest.split('?')
  if (rest.includes('#') || path.includes('@'))
    throw new Error(
      `has ${path.includes('@') ? '@ after a /' : 'a #'}, which does not belong to the address; ${ENCODE}`,
    )
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part)
  } catch {
    throw new Error(`has a % that does not encode a character; ${ENCODE}`)
  }
}

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
const SSL_FILES = ['sslcert', 'sslkey', 'sslrootcert']

/** Parameters that the driver applies for us. */
const APPLIED = [
  ...SSL_FILES,
  ...['sslmode', 'sslnegotiation', 'ssl', 'uselibpqcompat', TARGET, 'application_name', 'client_encoding', 'options'],
  ...['host', 'port', 'user', 'password', 'replication', 'statement_timeout', 'lock_timeout', 'query_timeout'],
  'idle_in_transaction_session_timeout',
]
/** Parameters of libpq that hosting providers and pg_service put into URLs, but that a gateway does not need. */
const HARMLESS = [
  ...['channel_binding', 'connect_timeout', 'fallback_application_name', 'gssdelegation', 'gssencmode', 'gsslib'],
  ...['keepalives', 'keepalives_count', 'keepalives_idle', 'keepalives_interval', 'krbsrvname'],
  ...['load_balance_hosts', 'sslcertmode', 'sslcompression', 'sslsni', 'tcp_user_timeout'],
]
const KNOWN = [...APPLIED, ...HARMLESS]

/** Refuses what would be ignored: an operator who writes `sslMode=require` relies on TLS. */
function checkParameters(parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    if (!KNOWN.includes(name)) throw new Error(`has ${unknownParameter(name)}`)
    if (SSL_FILES.includes(name)) checkFile(name, value)
  }
  const mode = parameters.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode))
    throw new Error(`has an unknown sslmode; the modes are ${SSL_MODES.join(', ')}`)
}

/** The name may be part of a password. */
function unknownParameter(name: string): string {
  if (!/^[A-Za-z_-]{1,40}$/.test(name)) return `an unknown parameter after the ?; ${ENCODE}`
  const plain = name.toLowerCase().replace(/[_-]/g, '')
  const meant = KNOWN.find((known) => known.replaceAll('_', '') === plain)
  if (meant !== undefined) return `the unknown parameter ${name}; write ${meant}`
  if (/ssl|tls/i.test(name)) return `the unknown parameter ${name}; for TLS write sslmode=verify-full`
  return `the parameter ${name}, which the gateway does not know; remove it`
}

function checkFile(name: string, file: string): void {
  if (name === 'sslrootcert' && file === 'system')
    throw new Error('has sslrootcert=system; leave it out: without it, the public authorities are trusted')
  try {
    accessSync(file, constants.R_OK)
  } catch {
    throw new Error(`has ${name}=${file}, a file that cannot be read`)
  }
}

/** Removes the parameter, which the driver would treat as one of its own options. */
function withoutTarget(text: string): string {
  const url = new URL(text)
  if (!url.searchParams.has(TARGET)) return text
  url.searchParams.delete(TARGET)
  return url.href
}
