import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseCells } from '#cells/cells-file.ts'
import { checkCells } from '#cells/check-cells.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

let database: TestDatabase
let gateway: GatewayProcess
const outbound = createOutbound()

beforeAll(async () => {
  database = await createTestDatabase()
  gateway = await startGateway({ databaseUrl: database.url, env: { CELL_NAME: 'eu1' } })
})
afterAll(async () => {
  await stopGateways()
  await outbound.close()
  await database.drop()
})

async function faultOf(name: string, metricsPort: number): Promise<string | undefined> {
  const { cells } = parseCells(JSON.stringify({ cells: [{ name, nodes: [{ host: '127.0.0.1', metricsPort }] }] }))
  const [node] = await checkCells(outbound, cells)
  return node!.fault
}

it('a node is reported as ready, as belonging to another cell, or as absent', async () => {
  const { metricsPort } = (await gateway.waitForLog(({ msg }) => msg === 'ready')) as { metricsPort: number }
  expect(await faultOf('eu1', metricsPort)).toBeUndefined()
  expect(await faultOf('eu2', metricsPort)).toMatch(/CELL_NAME is eu1. Set CELL_NAME=eu2/)
  await gateway.kill()
  expect(await faultOf('eu1', metricsPort)).toMatch(/does not answer/)
})
