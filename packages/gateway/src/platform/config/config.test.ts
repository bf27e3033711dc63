import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createAuthority } from '#test/harness/servers/certificates.ts'
import { packageRoot } from '../package-root.ts'
import { ConfigError, inspectConfig, localUrl, readConfig } from './config.ts'
import { configurationMarkdown } from './config-markdown.ts'
import { OTHER_CONNECTIONS } from './connections.ts'
import { VARIABLES, type Variable } from './variables.ts'

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-config-'))
const [cert, key, otherKey] = ['cert.pem', 'key.pem', 'other-key.pem'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
const authority = createAuthority('Test authority')
const issued = authority.issue('localhost')
writeFileSync(cert, issued.cert)
writeFileSync(key, issued.key)
writeFileSync(otherKey, authority.issue('localhost').key)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' // bytes 0 to 31

const production = {
  DEPLOYMENT: 'production',
  PUBLIC_URL: 'https://esim.example.com/dealers/',
  DATABASE_URL: 'postgresql://gateway:secret@db.example.com/gateway',
  TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1',
  MASTER_KEY: KEY,
}

function faultsOf(env: Record<string, string>, argv: string[] = []): readonly string[] {
  try {
    readConfig(env, argv)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  return []
}

describe('the configuration', () => {
  it('requires no settings for a local deployment', () => {
    const config = readConfig({}, [])
    expect(config).toMatchObject({
      deployment: 'local',
      role: 'all',
      host: '127.0.0.1',
      port: 8080,
      metricsPort: 9464,
      dataDir: join(process.cwd(), '.data'),
      databaseUrl: undefined,
      databaseSchema: 'public',
      cellName: 'main',
      publicUrl: undefined,
      masterKeys: undefined,
      trustedProxies: [],
      defaultQpsLimit: 100,
      logLevel: 'info',
    })
  })

  it('allows --trial only on a local deployment', () => {
    expect(readConfig({}, ['--trial']).isTrial).toBe(true)
    expect(readConfig({}, []).isTrial).toBe(false)
    expect(faultsOf(production, ['--trial'])).toEqual([
      '--trial runs a simulated wholesaler, which only a local deployment may have.',
    ])
  })

  it('reads the time of --recovery, and lists one that it cannot read', () => {
    expect(readConfig({}, ['--recovery', '2026-11-29T14:05:00Z']).recoverySince).toEqual(
      new Date('2026-11-29T14:05:00Z'),
    )
    expect(readConfig({}, []).recoverySince).toBe(undefined)
    expect(faultsOf({}, ['--recovery', 'yesterday']).join()).toMatch(/--recovery takes a time like .* not “yesterday”/)
    expect(faultsOf({}, ['--recovery']).join()).toMatch(/--recovery TIME/)
  })

  it('reads every setting of a production deployment', () => {
    const config = readConfig(production, ['--role', 'worker'])
    expect(config.publicUrl).toBe('https://esim.example.com/dealers')
    expect(config.trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::1'])
    expect(config.masterKeys).toEqual([Buffer.from([...Array(32).keys()])])
    expect(config.role).toBe('worker')
  })

  it.each(['test', 'production'])('requires every setting without a safe default on a %s deployment', (deployment) => {
    const noTls = `A ${deployment} deployment requires HTTPS: set TLS_CERT_FILE and TLS_KEY_FILE, or list the proxies that terminate TLS in TRUSTED_PROXIES.`
    expect(faultsOf({ DEPLOYMENT: deployment })).toEqual([
      `PUBLIC_URL must be set on a ${deployment} deployment.`,
      `DATABASE_URL must be set on a ${deployment} deployment.`,
      `MASTER_KEY must be set on a ${deployment} deployment.`,
      noTls,
    ])
    const { TRUSTED_PROXIES: _, ...withoutTls } = { ...production, DEPLOYMENT: deployment }
    expect(faultsOf(withoutTls)).toEqual([noTls])
    expect(faultsOf({ ...withoutTls, TLS_CERT_FILE: cert, TLS_KEY_FILE: key })).toEqual([])
    expect(faultsOf({ ...production, DEPLOYMENT: deployment, PUBLIC_URL: 'http://esim.example.com' })).toEqual([
      `PUBLIC_URL must begin with https:// on a ${deployment} deployment; it is “http://esim.example.com”.`,
    ])
  })

  it('lists all faults, each in a sentence that names the variable', () => {
    const faults = faultsOf({ PORT: '70000', METRICS_PORT: 'x', LOG_LEVEL: 'loud', DEFAULT_QPS_LIMIT: '0' }, ['--fast'])
    expect(faults).toHaveLength(5)
    for (const fault of faults) expect(fault).toMatch(/^\S.*\.$/)
    expect(faults).toContain('PORT must be a whole number from 0 to 65535, not “70000”.')
  })

  it('lists broken rules together with unreadable variables', () => {
    const { TRUSTED_PROXIES: _, ...withoutTls } = production
    const faults = faultsOf({ ...withoutTls, PORT: 'x', PUBLIC_URL: 'http://a.example', MAIL_FROM: 'a@b.example' })
    expect(faults.map((fault) => fault.split(' ', 3).join(' '))).toEqual([
      'PORT must be',
      'SMTP_URL and MAIL_FROM',
      'PUBLIC_URL must begin',
      'A production deployment',
    ])
    // An unreadable variable is not checked against any rule: only its own fault is listed.
    expect(faultsOf({ ...withoutTls, TRUSTED_PROXIES: 'proxy' })).toHaveLength(1)
  })

  it.each(['0.0.0.0', '::', '192.168.1.5', 'gateway.example.com'])(
    'does not let a local deployment listen on %s',
    (HOST) => {
      expect(faultsOf({ HOST })[0]).toMatch(/^HOST is .* but a local deployment listens on loopback only/)
    },
  )

  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost', '::ffff:127.0.0.1'])(
    'lets a local deployment listen on %s',
    (HOST) => {
      expect(faultsOf({ HOST })).toEqual([])
    },
  )

  it('requires a certificate and its key together, both readable', () => {
    expect(faultsOf({ TLS_CERT_FILE: cert })).toEqual([
      'TLS_CERT_FILE and TLS_KEY_FILE go together: set both or neither.',
    ])
    expect(faultsOf({ TLS_CERT_FILE: join(folder, 'none'), TLS_KEY_FILE: key })).toEqual([
      `TLS_CERT_FILE points to ${join(folder, 'none')}, which cannot be read.`,
    ])
  })

  it('requires a key that matches the certificate', () => {
    expect(faultsOf({ TLS_CERT_FILE: cert, TLS_KEY_FILE: otherKey })).toEqual([
      `TLS_CERT_FILE and TLS_KEY_FILE: The key in ${otherKey} does not match the first certificate in ${cert}.`,
    ])
    expect(faultsOf({ TLS_CERT_FILE: key, TLS_KEY_FILE: key })).toEqual([
      `TLS_CERT_FILE and TLS_KEY_FILE: ${key} contains no certificate in PEM.`,
    ])
    expect(faultsOf({ TLS_CERT_FILE: cert, TLS_KEY_FILE: cert })).toEqual([
      `TLS_CERT_FILE and TLS_KEY_FILE: ${cert} contains no unencrypted private key in PEM.`,
    ])
  })

  it.each([
    KEY,
    KEY.slice(0, -1),
    Buffer.from(KEY, 'base64').toString('hex'),
    Buffer.from(KEY, 'base64').toString('base64url'),
  ])('reads the same master key from %s', (MASTER_KEY) => {
    expect(readConfig({ MASTER_KEY }, []).masterKeys).toEqual([Buffer.from([...Array(32).keys()])])
  })

  it('reads several master keys, the current one first', () => {
    const other = 'ff'.repeat(32)
    const keys = readConfig({ MASTER_KEY: `${other}, ${KEY}` }, []).masterKeys
    expect(keys?.map((key) => key[31])).toEqual([255, 31])
  })

  it.each(['short', `${KEY}AAAA`, 'ab'.repeat(31), `${KEY},`])(
    'refuses the master key %s without repeating the key',
    (MASTER_KEY) => {
      const [fault] = faultsOf({ MASTER_KEY })
      expect(fault).toMatch(/^MASTER_KEY must be 32 bytes/)
      expect(fault).not.toContain(MASTER_KEY)
    },
  )

  it('never repeats a database address, which may hold a password', () => {
    expect(faultsOf({ DATABASE_URL: 'postgres://u:hun/ter2@h/d' })).toEqual([
      expect.stringContaining('write @ : / # ? % in the password as %40 %3A %2F %23 %3F %25'),
    ])
    expect(faultsOf({ DATABASE_URL: 'mysql://u:hunter2@h/d' }).join()).not.toContain('hunter2')
  })

  it.each(['Cell', '1a', 'a-b', 'pg_cell', 'information_schema', 'a'.repeat(64), 'a.b', '"a"', 'ä'])(
    'refuses the schema %s',
    (DATABASE_SCHEMA) => {
      expect(faultsOf({ DATABASE_SCHEMA })[0]).toMatch(/^DATABASE_SCHEMA must be a name of up to 63/)
    },
  )

  it.each(['Cell', 'a_b', 'a-b', 'a'.repeat(13)])('refuses the cell name %s', (CELL_NAME) => {
    expect(faultsOf({ CELL_NAME })[0]).toMatch(/^CELL_NAME must be 1 to 12 lower-case letters and digits/)
  })

  it('refuses the cell name test, which marks the AppKeys of test twins', () => {
    expect(faultsOf({ CELL_NAME: 'test' })).toEqual([
      'CELL_NAME must not be “test”, which marks the AppKeys of test twins.',
    ])
  })

  it('reads schema and cell name', () => {
    const read = readConfig({ DATABASE_SCHEMA: `_${'a'.repeat(62)}`, CELL_NAME: 'eu1' }, [])
    expect(read).toMatchObject({ databaseSchema: `_${'a'.repeat(62)}`, cellName: 'eu1' })
  })

  it.each(['1.2.3', '10.0.0.0/33', 'proxy', '10.0.0.0/', 'fe80::/129'])('refuses the proxy %s', (TRUSTED_PROXIES) => {
    expect(faultsOf({ TRUSTED_PROXIES })[0]).toMatch(/^TRUSTED_PROXIES must list addresses/)
  })

  it.each(['ftp://a.example', 'https://u:p@a.example', 'https://a.example/?x=1', 'https://a.example/#x', 'a.example'])(
    'refuses the public address %s',
    (PUBLIC_URL) => {
      expect(faultsOf({ PUBLIC_URL })[0]).toMatch(/^PUBLIC_URL must be an address like/)
    },
  )

  // Every path is valid.
  const checked = Object.values<Variable<unknown>>(VARIABLES).filter(({ name }) => name !== 'DATA_DIR')
  it.each(checked.map(({ name }) => name))(
    'refuses an invalid %s with one sentence that begins with the variable name',
    (name) => {
      expect(faultsOf({ [name]: '§ §' })).toEqual([expect.stringMatching(new RegExp(`^${name} \\S.*\\.$`))])
    },
  )

  const secrets = Object.values<Variable<unknown>>(VARIABLES).filter(({ secret }) => secret)
  const examples: Record<string, string> = {
    DATABASE_URL: 'postgres://u:p@h/d',
    MASTER_KEY: KEY,
    SMTP_URL: 'smtps://u:p@h:465',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=abc',
  }
  it.each(secrets.map(({ name }) => name))('reads the secret %s from a file', (name) => {
    const file = join(folder, name)
    const key = Object.keys(VARIABLES).find((each) => VARIABLES[each as keyof typeof VARIABLES].name === name)!
    const read = (env: Record<string, string>) => inspectConfig(env, []).config[key as 'smtpUrl']
    writeFileSync(file, `${examples[name]}\n`)
    expect(read({ [`${name}_FILE`]: file })).toEqual(read({ [name]: examples[name]! }))
    expect(faultsOf({ [`${name}_FILE`]: file, [name]: examples[name]! })).toContain(
      `${name} and ${name}_FILE are both set: remove one.`,
    )
    expect(faultsOf({ [`${name}_FILE`]: join(folder, 'absent') })[0]).toBe(
      `${name}_FILE points to ${join(folder, 'absent')}, which cannot be read.`,
    )
    writeFileSync(file, ' \n')
    expect(faultsOf({ [`${name}_FILE`]: file })[0]).toBe(`${name}_FILE points to ${file}, which is empty.`)
  })

  it('never repeats a faulty secret from a file', () => {
    writeFileSync(join(folder, 'faulty'), 'hunter2')
    for (const { name } of secrets)
      expect(faultsOf({ [`${name}_FILE`]: join(folder, 'faulty') }).join()).not.toContain('hunter2')
  })

  it('treats an empty variable as absent', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: ' ' }, [])).toMatchObject({ port: 8080, databaseUrl: undefined })
  })

  it('accepts the roles api, worker and all', () => {
    expect(faultsOf({}, ['--role', 'both'])).toEqual(['--role must be api, worker or all, not “both”.'])
    expect(faultsOf({}, ['serve'])).toHaveLength(1)
  })

  it('matches docs/configuration.md, which npm run configuration generates', () => {
    const document = readFileSync(join(packageRoot(), '../../docs/configuration.md'), 'utf8')
    expect(document).toBe(configurationMarkdown())
  })

  it('matches the connection count in docs/running.md', () => {
    const page = readFileSync(join(packageRoot(), '../../docs/running.md'), 'utf8')
    expect(page).toContain(`opens up to \`DATABASE_POOL_SIZE\` + ${OTHER_CONNECTIONS} connections`)
  })

  it('builds a URL from the host and port of a local gateway', () => {
    expect(localUrl({ host: '::1', tlsCertFile: undefined }, 80)).toBe('http://[::1]:80')
    expect(localUrl({ host: '127.0.0.1', tlsCertFile: cert }, 8443)).toBe('https://127.0.0.1:8443')
  })
})

it('listeners on the same address must have different ports', () => {
  const faults = (env: Record<string, string>) => inspectConfig(env, []).faults
  expect(faults({ PORT: '9000', CONSOLE_PORT: '9000' })).toEqual([
    'PORT and CONSOLE_PORT are both 9000: give each its own port.',
  ])
  expect(faults({ PORT: '9464', METRICS_HOST: '0.0.0.0' })).toEqual([
    'PORT and METRICS_PORT are both 9464: give each its own port.',
  ])
  const free = { PORT: '0', CONSOLE_PORT: '0', METRICS_PORT: '0' }
  const apart = { PORT: '9000', METRICS_PORT: '9000', HOST: '127.0.0.1', METRICS_HOST: '127.0.0.2' }
  const off = { PORT: '9000', CONSOLE_PORT: '9000', CONSOLE: 'off' }
  for (const env of [free, apart, off]) expect(faults(env)).toEqual([])
})
