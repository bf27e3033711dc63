import { resolve } from 'node:path'
import { QPS_LIMIT_DEFAULT, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { parseDatabaseUrl } from '@dealer-esim/lib/database-url.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { ALL_TWIN_CONNECTIONS, OTHER_CONNECTIONS } from './connections.ts'
import {
  addressBlocks,
  clientId,
  databaseSchema,
  domains,
  groupRoles,
  headers,
  hostNames,
  issuer,
  mailAddress,
  mailAddresses,
  providerLabel,
  publicationKeyFile,
  readableFile,
  smtpUrl,
} from './parsers.ts'

/** The name of the only cell of an operator. */
export const DEFAULT_CELL = 'main'

/*
 * All environment variables that an operator may set; PAUSE_AT is for tests only. `npm run configuration` writes
 * docs/configuration.md from this table. A parser returns the value, or throws an Error that completes "NAME …".
 */

export const DEPLOYMENTS = ['local', 'test', 'production'] as const
export type Deployment = (typeof DEPLOYMENTS)[number]

export interface Variable<Value> {
  name: string
  description: string
  parse(text: string): Value
  /** Used if the variable is absent or empty. */
  default?: string
  /** Deployments in which the variable must be set. */
  requiredOn?: readonly Deployment[]
  /** Never printed. */
  secret?: true
}

const NOT_LOCAL: readonly Deployment[] = ['test', 'production']

export const VARIABLES = {
  deployment: {
    name: 'DEPLOYMENT',
    description:
      'Kind of deployment: `local` (a developer’s machine: loopback only, with a demo tenant), `test` or `production`. A database stores its deployment and refuses another.',
    parse: oneOf(DEPLOYMENTS),
    default: 'local',
  },
  host: {
    name: 'HOST',
    description: 'Address to listen on. A local deployment listens on loopback only.',
    parse: host,
    default: '127.0.0.1',
  },
  port: {
    name: 'PORT',
    description: 'Port of the dealer API, the console and the documentation. 0 chooses a free port.',
    parse: integer(0, 65_535),
    default: '8080',
  },
  metricsHost: {
    name: 'METRICS_HOST',
    description: 'Address to listen on for metrics and health probes.',
    parse: host,
    default: '127.0.0.1',
  },
  metricsHosts: {
    name: 'METRICS_HOSTS',
    description:
      'Host names under which `/metrics` answers, separated by commas, besides loopback, `METRICS_HOST` and the address that was connected to. A page in a browser inside the network could otherwise read them under a name of its own.',
    parse: hostNames,
    default: '',
  },
  metricsPort: {
    name: 'METRICS_PORT',
    description: 'Port of metrics and health probes. 0 chooses a free port.',
    parse: integer(0, 65_535),
    default: '9464',
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    description:
      'URL under which dealers reach this gateway, with its path prefix if there is one; base of absolute links. Default on a local deployment: its own address.',
    parse: publicUrl,
    requiredOn: NOT_LOCAL,
  },
  dataDir: {
    name: 'DATA_DIR',
    description: 'Folder of the embedded PostgreSQL and of a local deployment’s secrets. Only one gateway can use it.',
    parse: (value: string) => resolve(value),
    default: '.data',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    description:
      'PostgreSQL 15 to 18, as `postgres://user:password@host:port/database`; for a primary with standbys, `…@host1:5432,host2:5432/database?target_session_attrs=read-write`. Without it, a local deployment starts the embedded PostgreSQL.',
    parse: databaseUrl,
    requiredOn: NOT_LOCAL,
    secret: true,
  },
  databaseSchema: {
    name: 'DATABASE_SCHEMA',
    description:
      'Schema of the tables, created if it is missing: up to 63 lower-case letters, digits and _. Gateways with different schemas can share a database and do not see each other.',
    parse: databaseSchema,
    default: DEFAULT_SCHEMA,
  },
  cellName: {
    name: 'CELL_NAME',
    description:
      'Name of this gateway in the AppKeys of new dealers, `ak_<cell>_…`, by which a load balancer in front of several gateways finds the right one: 1 to 12 lower-case letters and digits. Must be the same on every node.',
    parse: cellName,
    default: DEFAULT_CELL,
  },
  cellsFile: {
    name: 'CELLS_FILE',
    description:
      'File that lists all cells, for the console page that adds up their figures. The file and its tokens are read again for each request.',
    parse: readableFile,
  },
  publicationKeyFile: {
    name: 'PUBLICATION_KEY_FILE',
    description:
      'File with a key of at least 32 bytes, the same for all cells, for example from `openssl rand -base64 32`. Publications of the catalogue then carry a digest under it, and only such publications are imported.',
    parse: publicationKeyFile,
  },
  databasePoolSize: {
    name: 'DATABASE_POOL_SIZE',
    description: `Maximum database connections of this process, in addition to up to ${OTHER_CONNECTIONS} for orders, admission, wakeups and migrations, and ${ALL_TWIN_CONNECTIONS} once a dealer has a test twin.`,
    parse: integer(2, 500),
    default: '20',
  },
  masterKeys: {
    name: 'MASTER_KEY',
    description:
      'Key that encrypts secrets and activation codes in the database: 32 bytes in base64, base64url or hexadecimal, for example from `openssl rand -base64 32`. During a rotation up to four keys, separated by commas: the first encrypts, the others only decrypt. A local deployment creates `DATA_DIR/master.key`.',
    parse: masterKeys,
    requiredOn: NOT_LOCAL,
    secret: true,
  },
  tlsCertFile: {
    name: 'TLS_CERT_FILE',
    description:
      'Certificate chain in PEM, if the gateway terminates TLS itself. A renewed certificate is loaded within seconds without a restart; if it cannot be used, the fault is logged and the old one kept.',
    parse: readableFile,
  },
  tlsKeyFile: {
    name: 'TLS_KEY_FILE',
    description: 'The certificate’s private key in PEM, unencrypted.',
    parse: readableFile,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    description:
      'Addresses and CIDR blocks, separated by commas, whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted. From other addresses they are ignored.',
    parse: addressBlocks,
    default: '',
  },
  defaultQpsLimit: {
    name: 'DEFAULT_QPS_LIMIT',
    description: 'Requests per second of a tenant that has no limit of its own.',
    parse: integer(1, QPS_LIMIT_MAX),
    default: String(QPS_LIMIT_DEFAULT),
  },
  twinQpsLimit: {
    name: 'TWIN_QPS_LIMIT',
    description: 'Most requests per second of a test twin, whatever its own limit.',
    parse: integer(1, QPS_LIMIT_MAX),
    default: '50',
  },
  twinsQpsLimit: {
    name: 'TWINS_QPS_LIMIT',
    description: 'Requests per second of all test twins together on this node.',
    parse: integer(1, QPS_LIMIT_MAX),
    default: '200',
  },
  console: {
    name: 'CONSOLE',
    description: 'Whether this process serves the console: `on` or `off`.',
    parse: oneOf(['on', 'off'] as const),
    default: 'on',
  },
  consoleHost: {
    name: 'CONSOLE_HOST',
    description: 'Address to listen on for the console if `CONSOLE_PORT` is set. Default: `HOST`.',
    parse: host,
  },
  consolePort: {
    name: 'CONSOLE_PORT',
    description:
      'Separate port of the console, for example one that only the operator’s network can reach. The console is then not served on `PORT`. 0 chooses a free port.',
    parse: integer(0, 65_535),
  },
  consoleUrl: {
    name: 'CONSOLE_URL',
    description:
      'URL under which users reach the console, without `/console`; base of links in invitations. Default: `PUBLIC_URL`.',
    parse: publicUrl,
  },
  docs: {
    name: 'DOCS',
    description:
      'Which part of the documentation everybody reads: `all`, or `dealers` without the operator’s part and the names of wholesalers. People of the operator who are signed in to the console under the same host name read all of it.',
    parse: oneOf(['all', 'dealers'] as const),
    default: 'all',
  },
  smtpUrl: {
    name: 'SMTP_URL',
    description:
      'Mail server for alerts, invitations and password links: `smtps://user:password@host:465`, or `smtp://…:587`, which requires STARTTLS (except on loopback; `?tls=none` never uses it). Certificates are verified, except on loopback; `?ca=FILE` names a private authority in PEM. Without it, no e-mail is sent. Must be the same on every node.',
    parse: smtpUrl,
    secret: true,
  },
  mailFrom: {
    name: 'MAIL_FROM',
    description: 'Sender of e-mail, as `esim@example.com` or `eSIM <esim@example.com>`. Required with `SMTP_URL`.',
    parse: mailAddress,
  },
  travellerDays: {
    ...{ name: 'TRAVELLER_DAYS', parse: integer(1, 3_650), default: '90' },
    description: 'Days after which names and e-mail addresses of travellers are deleted.',
  },
  operatorEmails: {
    name: 'OPERATOR_EMAIL',
    description:
      'Recipients of the operator’s alerts by e-mail, separated by commas, unless some are set in the console. Default: the operator’s console users.',
    parse: mailAddresses,
    default: '',
  },
  backupAlert: {
    name: 'BACKUP_ALERT',
    description:
      '`on`: operators of a production deployment are alerted when the last backup that the command `backup` made is older than a day. `off`: the database is backed up in another way.',
    parse: oneOf(['on', 'off'] as const),
    default: 'on',
  },
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    description:
      'OpenID Connect provider with which people sign in to the console, for example `https://login.example.com`. See [Signing in](sign-in.md). Must be the same on every node, like all `OIDC_…` variables.',
    parse: issuer,
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    description: 'Id of the gateway at the provider. Required with `OIDC_ISSUER`.',
    parse: clientId,
  },
  oidcClientSecretFile: {
    name: 'OIDC_CLIENT_SECRET_FILE',
    description: 'File with the client secret. Required with `OIDC_ISSUER`.',
    parse: readableFile,
  },
  oidcName: {
    name: 'OIDC_NAME',
    description: 'Name of the provider on the sign-in page, as `Example Login`. Default: the host of `OIDC_ISSUER`.',
    parse: providerLabel,
  },
  oidcDomains: {
    name: 'OIDC_DOMAINS',
    description:
      'Domains of the e-mail addresses that may sign in through the provider, separated by commas. Default: every address that belongs to a person.',
    parse: domains,
    default: '',
  },
  oidcRoles: {
    name: 'OIDC_ROLES',
    description:
      'Creates people of the operator at their first sign-in through the provider: groups (of the claim `groups`) and their roles, as `esim-admins=OPERATOR_ADMIN,esim-staff=OPERATOR_STAFF`. The first group that fits decides. Without it, people must be invited first.',
    parse: groupRoles,
    default: '',
  },
  oidcPasswords: {
    name: 'OIDC_PASSWORDS',
    description: '`off`: people of `OIDC_DOMAINS` sign in through the provider or with a passkey, not with a password.',
    parse: oneOf(['on', 'off'] as const),
    default: 'on',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    description:
      '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`. Lines are JSON on standard output, and text on a terminal.',
    parse: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const),
    default: 'info',
  },
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'Collector of traces (OTLP over HTTP), for example `http://127.0.0.1:4318`; `/v1/traces` is appended. Without it, no traces are recorded.',
    parse: publicUrl,
  },
  otlpHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'Headers for the collector, as `name=value`, separated by commas; values URL-encoded.',
    parse: headers,
    default: '',
    secret: true,
  },
  tracePercent: {
    name: 'TRACE_PERCENT',
    description: 'Percentage of traces that are sent. A trace is sent completely, by every process, or not at all.',
    parse: integer(0, 100),
    default: '100',
  },
  stopDelayMs: {
    name: 'STOP_DELAY_MS',
    description:
      'How long a stopping gateway goes on serving while `/readyz` answers 503, so that proxies stop sending to it first: longer than they take to notice. Default: 5000, on a local deployment 0.',
    parse: integer(0, 600_000),
  },
  drainTimeoutMs: {
    name: 'DRAIN_TIMEOUT_MS',
    description: 'How long a stopping gateway may then finish requests and work. A second signal ends it immediately.',
    parse: integer(0, 600_000),
    default: '25000',
  },
} satisfies Record<string, Variable<unknown>>

type Value<V> = V extends { parse(text: string): infer Parsed }
  ? V extends { default: string }
    ? Parsed
    : Parsed | undefined
  : never

/** The values of all variables by key. */
export type Values = { readonly [Key in keyof typeof VARIABLES]: Value<(typeof VARIABLES)[Key]> }

function host(value: string): string {
  if (!/^[A-Za-z0-9.:_-]{1,253}$/.test(value)) {
    throw new Error(`must be a host name or an address to listen on, such as 127.0.0.1, not “${value}”`)
  }
  return value
}

function oneOf<Choice extends string>(choices: readonly Choice[]): (value: string) => Choice {
  return (value) => {
    const choice = choices.find((candidate) => candidate === value)
    if (!choice) {
      const others = choices.slice(0, -1).join(', ')
      throw new Error(`must be ${others} or ${choices.at(-1)}, not “${value}”`)
    }
    return choice
  }
}

function integer(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max))
      throw new Error(`must be a whole number from ${min} to ${max}, not “${value}”`)
    return number
  }
}

/** Removes trailing slashes so that paths can be appended. */
function publicUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new Error(`must be an address like https://esim.example.com or https://example.com/esim, not “${value}”`)
  }
  return (url.origin + url.pathname).replace(/(?<!\/)\/+$/, '')
}

/** @throws Error whose message never quotes the value, which may contain a password */
function databaseUrl(value: string): string {
  parseDatabaseUrl(value)
  return value
}

function cellName(value: string): string {
  if (!/^[a-z0-9]{1,12}$/.test(value)) throw new Error(`must be 1 to 12 lower-case letters and digits, not “${value}”`)
  if (value === 'test') throw new Error('must not be “test”, which marks the AppKeys of test twins')
  return value
}

const MASTER_KEY_BYTES = 32
const MASTER_KEYS_MAX = 4

function masterKeys(value: string): [Buffer, ...Buffer[]] {
  const keys = value.split(',').map((part) => masterKey(part.trim())) as [Buffer, ...Buffer[]]
  // More key ids do not fit into a connection's application name, through which gateways see each other's keys.
  if (keys.length > MASTER_KEYS_MAX) throw new Error(`must have at most ${MASTER_KEYS_MAX} keys; it has ${keys.length}`)
  return keys
}

/** @throws an Error that completes the sentence "MASTER_KEY …" and does not quote it */
export function masterKey(value: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) {
    const key = Buffer.from(value, 'base64url') // decodes both alphabets
    if (key.length === MASTER_KEY_BYTES) return key
  }
  throw new Error('must be 32 bytes in base64, base64url or hexadecimal, as `openssl rand -base64 32` prints them')
}
