import { expect, it } from 'vitest'
import { clientFor, parseServers } from './servers.ts'

it('a list of servers becomes one URL for each', () => {
  expect(
    parseServers('postgres://me:se%40cret@one:5433,[fd00::2]/esim?target_session_attrs=read-write&sslmode=require'),
  ).toEqual({
    urls: [
      'postgres://me:se%40cret@one:5433/esim?sslmode=require',
      'postgres://me:se%40cret@[fd00::2]/esim?sslmode=require',
    ],
    isPrimaryRequired: true,
    current: 0,
  })
})

it('a single server needs no check of its role', () => {
  const url = 'postgresql://me@one/esim'
  expect(parseServers(url)).toEqual({ urls: [url], isPrimaryRequired: false, current: 0 })
  expect(clientFor(url).name).toBe('Client')
})

it.each([
  ['another protocol', 'mysql://one/esim', /is an address like/],
  ['an unescaped password', 'postgres://me:p/w@one/esim', /is an address like/],
  ['an empty server', 'postgres://me@one,:x/esim?target_session_attrs=primary', /is an address like/],
  ['a list without a target', 'postgres://me@one,two/esim', /lists 2 servers: add \?target_session_attrs/],
  [
    'a target that cannot be used',
    'postgres://me@one/esim?target_session_attrs=standby',
    /target_session_attrs=standby/,
  ],
])('%s is refused', (_, url, message) => {
  expect(() => parseServers(url)).toThrow(message)
})

it('the message never quotes the password', () => {
  expect(() => parseServers('mysql://me:secret@one/esim')).toThrow(/^(?!.*secret)/)
})
