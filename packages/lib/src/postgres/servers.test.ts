import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDb } from './db.ts'
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
    timeline: 0,
  })
})

it('a single server needs no check of its role', () => {
  const url = 'postgresql://me@one/esim'
  expect(parseServers(url)).toEqual({ urls: [url], isPrimaryRequired: false, current: 0, timeline: 0 })
  expect(clientFor(url).name).toBe('Client')
})

it.each([
  ['another protocol', 'mysql://one/esim', /must be an address like/],
  ['an unescaped password', 'postgres://me:p/w@one/esim', /must be an address like/],
  ['an empty server', 'postgres://me@one,:x/esim?target_session_attrs=primary', /must be an address like/],
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

describe('a server that lets us sign in, and then', () => {
  const SIGNED_IN = Buffer.from([
    ...Buffer.from('R'),
    0,
    0,
    0,
    8,
    0,
    0,
    0,
    0,
    ...Buffer.from('Z'),
    0,
    0,
    0,
    5,
    ...Buffer.from('I'),
  ])

  it.each([
    ['falls silent', () => {}],
    ['closes the connection', (socket: Socket) => socket.destroy()],
  ])('%s, fails the statement and not the process', async (_, answer) => {
    const uncaught: unknown[] = []
    const note = (error: unknown) => uncaught.push(error)
    process.on('uncaughtException', note)
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}))
      socket.once('data', () => {
        socket.write(SIGNED_IN)
        socket.once('data', () => answer(socket))
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const url = `postgres://me@${host},${host}/esim?target_session_attrs=read-write`
    const db = createDb({ url, poolSize: 1, applicationName: 'servers test', connectTimeoutMs: 200 })
    onTestFinished(async () => {
      process.off('uncaughtException', note)
      for (const socket of sockets) socket.destroy()
      server.close()
      await db.close()
    })
    await expect(db.query({ text: 'select 1' })).rejects.toThrow('Connection terminated')
    expect(sockets.size).toBe(2)
    expect(uncaught).toEqual([])
    expect(db.pool.totalCount).toBe(0)
  })
})
