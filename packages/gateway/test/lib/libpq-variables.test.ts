import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import { connectClient } from '@dealer-esim/lib/postgres/servers.ts'
import { afterAll, afterEach, beforeAll, expect, inject, it, vi } from 'vitest'
import { spawnGateway, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'

/* Variables read by psql and other clients, as found on a machine that is used with a hosted database. */
const VARIABLES: Record<string, string> = {
  PGHOST: '192.0.2.1',
  PGHOSTADDR: '192.0.2.1',
  PGPORT: '1',
  PGUSER: 'stranger',
  PGPASSWORD: 'wrong',
  PGPASSFILE: '/nonexistent',
  PGDATABASE: 'missing',
  PGSERVICE: 'missing',
  PGSERVICEFILE: '/nonexistent',
  PGOPTIONS: '-c default_transaction_read_only=on',
  PGAPPNAME: 'stranger',
  PGSSLMODE: 'verify-full',
  PGREQUIRESSL: '1',
  PGSSLNEGOTIATION: 'direct',
  PGSSLCERT: '/nonexistent',
  PGSSLKEY: '/nonexistent',
  PGSSLROOTCERT: '/nonexistent',
  PGSSLCRL: '/nonexistent',
  PGGSSENCMODE: 'require',
  PGREQUIREAUTH: 'none',
  PGCHANNELBINDING: 'require',
  PGTARGETSESSIONATTRS: 'standby',
  PGCONNECT_TIMEOUT: '1',
  PGCLIENTENCODING: 'LATIN1',
  PGCLIENT_ENCODING: 'LATIN1',
  PGREPLICATION: 'true',
  PGDATESTYLE: 'German, DMY',
  PGTZ: 'Asia/Tokyo',
  PGGEQO: 'off',
  PGDATA: '/nonexistent',
  PGSYSCONFDIR: '/nonexistent',
  PGLOCALEDIR: '/nonexistent',
}

let url: string
beforeAll(async () => {
  const gateway = await startGateway({ env: VARIABLES }) // creates its database too
  url = readRunningPostgres(gateway.dataDir)!.url
})
afterEach(() => vi.unstubAllEnvs())
afterAll(stopGateways)

it.each(Object.entries(VARIABLES))('%s does not change connections to the embedded server', async (name, value) => {
  vi.stubEnv(name, value)
  const client = await connectClient(url, {})
  const state = `select current_user as user, current_database() as database, current_setting('TimeZone') as timezone,
                        current_setting('transaction_read_only') as read_only, current_setting('DateStyle') as dates,
                        current_setting('client_encoding') as encoding`
  const { rows } = await client.query(state)
  await client.end()
  expect(rows).toEqual([
    { user: 'gateway', database: 'postgres', timezone: 'UTC', read_only: 'off', dates: 'ISO, MDY', encoding: 'UTF8' },
  ])
})

it('a gateway whose server has no TLS explains that PGSSLMODE requires it', async () => {
  const { url } = inject('testServer')
  const gateway = spawnGateway({ databaseUrl: url.split('?')[0]!, env: { PGSSLMODE: 'require' } })
  expect(await gateway.exited).toEqual({ code: 1, signal: null })
  expect(gateway.stderr).toBe(
    'The gateway did not start. Cannot connect to the database: The server does not support SSL connections. The environment has PGSSLMODE=require: unset it, or add the sslmode of this server to DATABASE_URL, such as ?sslmode=verify-full or ?sslmode=disable.\n',
  )
})
