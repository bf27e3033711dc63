import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { parseCells } from '#cells/cells-file.ts'
import { MOVED_TABLES } from '#cells/move/moved-tables.ts'
import { describeTables, ROW_TEXT, rowsOfTable } from '#cells/move/table-shape.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { NODE_ENV } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type AdminRun, admin } from '../harness/processes/admin-process.ts'
import { type GatewayProcess, startGateway, temporaryFolder } from '../harness/processes/gateway-process.ts'

export interface TestCell {
  name: string
  database: TestDatabase
  db: Database
  /** The variables of its nodes and commands. */
  env: Record<string, string>
  gateway: GatewayProcess
  metricsPort: number
}

/** Two cells with the demo catalogue and the sandbox, each with its own database and gateway. */
export interface TwoCells {
  main: TestCell
  eu1: TestCell
  /** The path of the cells file. */
  file: string
  /** Runs `admin tenant move` in a cell. */
  move(from: TestCell, tenantId: string, ...options: string[]): Promise<AdminRun>
  /** Runs `admin tenant move` and kills it at a failpoint. */
  moveUntil(point: string, from: TestCell, tenantId: string, ...options: string[]): Promise<AdminRun>
  /** The cell that the cells file assigns to an AppKey. */
  cellOf(appKey: string): TestCell
  close(): Promise<void>
}

export async function startTwoCells(role: 'api' | 'all'): Promise<TwoCells> {
  const folder = temporaryFolder('cells')
  const file = join(folder, 'cells.json')
  const [main, eu1] = await Promise.all(['main', 'eu1'].map((name) => startCell(name, role, folder)))
  const cells = [main!, eu1!]
  const listed = cells.map(({ name, gateway, metricsPort }) => {
    const { port } = new URL(gateway.baseUrl)
    return {
      name,
      nodes: [{ host: '127.0.0.1', port: Number(port), metricsPort }],
      environmentFile: `${name}.env`,
    }
  })
  writeFileSync(file, JSON.stringify({ cells: listed }))
  const move = (from: TestCell, tenantId: string, options: string[], env: Record<string, string> = {}) =>
    admin(['tenant', 'move', tenantId, '--file', file, ...options], { ...from.env, ...env })
  return {
    main: main!,
    eu1: eu1!,
    file,
    move: (from, tenantId, ...options) => move(from, tenantId, options),
    moveUntil: (point, from, tenantId, ...options) => move(from, tenantId, options, { PAUSE_AT: point }),
    cellOf(appKey) {
      const { movedAppKeys } = parseCells(readFileSync(file, 'utf8'))
      const name = movedAppKeys.get(appKey)
      return cells.find((cell) => (name === undefined ? appKey.startsWith(`ak_${cell.name}_`) : cell.name === name))!
    },
    async close() {
      await Promise.all(cells.map(({ gateway }) => gateway.kill()))
      for (const { db, database } of cells) {
        await db.close()
        await database.drop()
      }
    },
  }
}

async function startCell(name: string, role: 'api' | 'all', folder: string): Promise<TestCell> {
  const database = await createTestDatabase()
  const { MASTER_KEY } = NODE_ENV
  const variables = {
    ...{ CELL_NAME: name, DATABASE_URL: database.url, DATABASE_SCHEMA: DEFAULT_SCHEMA },
    ...{ MASTER_KEY, DEFAULT_QPS_LIMIT: '100000' },
  }
  writeFileSync(
    join(folder, `${name}.env`),
    Object.entries(variables)
      .map(([variable, value]) => `${variable}=${value}\n`)
      .join(''),
  )
  const gateway = await startGateway({ databaseUrl: database.url, role, env: { ...NODE_ENV, ...variables } })
  const db = createDb({ url: database.url, poolSize: 4, applicationName: `test ${name}` })
  const { metricsPort } = (await gateway.waitForLog(({ msg }) => msg === 'ready')) as { metricsPort: number }
  return { name, database, db, env: { ...variables, DATA_DIR: folder }, gateway, metricsPort }
}

/** All rows of a tenant that a move copies, by table. */
export async function rowsOf({ db }: Pick<TestCell, 'db'>, tenantId: string): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {}
  const shapes = await describeTables(
    db,
    MOVED_TABLES.map(({ table }) => table),
  )
  for (const shape of shapes) {
    const found = await db.query<{ row: string }>({
      text: `select ${ROW_TEXT} as row from ${rowsOfTable(shape)} where tenant_id = $1 order by 1`,
      values: [tenantId],
    })
    rows[shape.table] = found.map(({ row }) => row)
  }
  return rows
}

export async function ledgerFaults({ db }: TestCell, tenantId: string): Promise<string[]> {
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: ({ message }) => void faults.push(message) })
  return faults
}
