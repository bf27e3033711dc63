import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDb } from './db.ts'
import { clientFor } from './servers.ts'

it('a single server does not need a separate client', () => {
  expect(clientFor('postgresql://me@one/esim').name).toBe('Client')
})

describe('a server that accepts the sign-in and then', () => {
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
  ])('%s fails the statement, but not the process', async (_, answer) => {
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
