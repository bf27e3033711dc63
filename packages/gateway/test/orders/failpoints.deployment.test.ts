import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, call, NODE_ENV, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* A gateway is killed between two steps of placing an order, and the order is repeated on another gateway. */

let database: TestDatabase
let inspector: Node

beforeAll(async () => {
  database = await createTestDatabase()
  inspector = await startNode(database.url)
})
afterAll(async () => {
  await inspector.stop()
  await stopGateways()
  await database.drop()
})

const BODY = JSON.stringify({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] })

describe('a crash while an order is placed', () => {
  it.each([
    { point: 'orders.locked', before: 0, isPlaced: false },
    { point: 'orders.before-commit', before: 0, isPlaced: false },
    { point: 'orders.committed', before: 0, isPlaced: true },
    { point: 'orders.before-commit', before: 1, isPlaced: false },
    { point: 'orders.committed', before: 1, isPlaced: true },
  ])(
    'at $point, with $before earlier orders, leaves either the whole order or nothing',
    async ({ point, before, isPlaced }) => {
      const options = { databaseUrl: database.url, role: 'api' } as const
      const doomed = await startGateway({ ...options, env: { ...NODE_ENV, PAUSE_AT: `${point}:kill:${before + 1}` } })
      const dealer = await addDealer(inspector.deps, 100 + 9 * before)
      // From then on, its wallet is cached.
      for (let number = 0; number < before; number++) {
        const body = BODY.replace('T-1', `T-before-${number}`)
        expect(await call(doomed, dealer, 'esim/order', { body })).toMatchObject({ code: '000000' })
      }
      await expect(call(doomed, dealer, 'esim/order', { body: BODY })).rejects.toThrow()
      expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' })
      expect(doomed.stderr).toContain(`paused at ${point}`)

      const next = await startGateway({ ...options, env: NODE_ENV })
      const answer = await call(next, dealer, 'esim/order', { body: BODY })
      expect([answer.status, answer.code]).toEqual([200, '000000'])
      expect(answer.headers['idempotent-replayed']).toBe(isPlaced ? 'true' : undefined)
      expect(answer.data).toMatchObject({ amount: 90_000, balanceAfter: 910_000 })
      const balance = await call(next, dealer, 'account/balance')
      expect(balance.data.balance).toBe(910_000)
      const faults: string[] = []
      const { tenantId } = dealer
      const { orders, transfers } = await verifyLedger(inspector.deps.db, {
        tenantId,
        onFault: (fault) => faults.push(fault.message),
      })
      expect({ faults, orders, transfers }).toEqual({
        faults: [],
        orders: 1n + BigInt(before),
        transfers: 2n + BigInt(before),
      })
      await next.kill('SIGKILL')
    },
  )
})
