import { expect, it } from 'vitest'
import { parseDatabaseUrl } from './database-url.ts'

it('a list of servers is split into one URL per server', () => {
  expect(
    parseDatabaseUrl('postgres://me:se%40cret@one:5433,[fd00::2]/esim?target_session_attrs=read-write&sslmode=require'),
  ).toEqual({
    urls: [
      'postgres://me:se%40cret@one:5433/esim?sslmode=require',
      'postgres://me:se%40cret@[fd00::2]/esim?sslmode=require',
    ],
    isPrimaryRequired: true,
  })
})

it.each([
  'postgresql://me@one/esim',
  'postgres://me@one/esim?sslmode=require&channel_binding=require',
  'postgres://me@one/esim?options=-c%20work_mem%3D64MB&application_name=a@b&connect_timeout=10',
  'postgres://me:p@ss@one/esim',
  'postgres:///esim?host=/run/postgresql',
])('%s is a single server, whose role need not be checked', (url) => {
  expect(parseDatabaseUrl(url)).toEqual({ urls: [url], isPrimaryRequired: false })
})

it('an @ in the password does not hide the list of servers', () => {
  const { urls } = parseDatabaseUrl('postgres://me:p@ss@one,two/esim?target_session_attrs=primary')
  expect(urls.map((url) => new URL(url).host)).toEqual(['one', 'two'])
})

it.each([
  ['another protocol', 'mysql://one/esim', /must be an address like/],
  ['an empty server', 'postgres://me@one,:x/esim?target_session_attrs=primary', /must be an address like/],
  ['a list without a target', 'postgres://me@one,two/esim', /lists 2 servers: add \?target_session_attrs/],
  [
    'a target that cannot be used',
    'postgres://me@one/esim?target_session_attrs=standby',
    /target_session_attrs=standby/,
  ],
  ['sslMode', 'postgres://me@one/esim?sslMode=require', /unknown parameter sslMode; write sslmode$/],
  ['ssl-mode', 'postgres://me@one/esim?ssl-mode=REQUIRED', /unknown parameter ssl-mode; write sslmode$/],
  ['tls', 'postgres://me@one/esim?tls=true', /unknown parameter tls; for TLS write sslmode=verify-full$/],
  ['useSSL', 'postgres://me@one/esim?useSSL=true', /unknown parameter useSSL; for TLS write sslmode=verify-full$/],
  ['a parameter of another client', 'postgres://me@one/esim?pgbouncer=true', /the parameter pgbouncer, .*; remove it$/],
  ['a list of revoked certificates', 'postgres://me@one/esim?sslcrl=/x', /sslcrl/],
  ['an unknown mode', 'postgres://me@one/esim?sslmode=REQUIRED', /an unknown sslmode; the modes are disable, allow/],
  ['a missing file', 'postgres://me@one/esim?sslrootcert=/no/file', /sslrootcert=\/no\/file, a file that cannot be/],
  ['the authorities of the system', 'postgres://me@one/esim?sslrootcert=system', /leave it out/],
])('%s is refused', (_, url, message) => {
  expect(() => parseDatabaseUrl(url)).toThrow(message)
})

it.each([
  'mysql://me:secret@one/esim',
  'postgres://me:secret/w@one/esim',
  'postgres://me:sec@ret/w#rd@one/esim',
  'postgres://me:1/secret@one/esim',
  'postgres://me:1#secret@one/esim',
  'postgres://me:1?secret@one/esim',
  'postgres://me:secret%ff@one/esim',
  'postgres://me:secret@one/esim#rest',
])('a wrongly encoded password is refused with the correct encoding, without quoting it: %s', (url) => {
  expect(() => parseDatabaseUrl(url)).toThrow(
    /^(?!.*(secret|ret)).*write @ : \/ # \? % in the password as %40 %3A %2F %23 %3F %25$/s,
  )
})
