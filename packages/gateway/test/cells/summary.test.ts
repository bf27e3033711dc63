import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cells } from '#http/console/cells.ts'
import {
  addTenant,
  type browser,
  type ConsoleTestbed,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../http/console/console-testbed.ts'

/* One cell's console reads the other cells' figures with access tokens, and adds them up. */

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-cells-'))
const cellsFile = join(folder, 'cells.json')
const path = (name: string) => join(folder, name)
let main: ConsoleTestbed
let eu1: ConsoleTestbed
let origin: string
let operator: ReturnType<typeof browser>

beforeAll(async () => {
  writeFileSync(cellsFile, '{}')
  main = await startConsole({ config: { cellName: 'main', cellsFile } })
  eu1 = await startConsole({ config: { cellName: 'eu1' } })
  origin = await eu1.app.listen({ host: '127.0.0.1', port: 0 })
  operator = await signedInAs(main, 'OPERATOR_READ_ONLY')
  for (const [testbed, sales] of [
    [main, [['EUR', 3, 30_000, 10_000, 0]]],
    [
      eu1,
      [
        ['EUR', 2, 20_000, 0, 2],
        ['USD', 1, 5_000, 4_000, 0],
      ],
    ],
  ] as const) {
    await addTenant(testbed, 'Dealer')
    await testbed.db.query({
      text: `insert into daily_sales_packages (day, package_code, supplier, order_type, currency_code, items, revenue, refunds,
               cost, unknown_items, unknown_revenue)
             select (now() at time zone 'UTC')::date, 'P', 's', 'BASE', c, i, s, 0, k, u, case when u > 0 then s else 0 end
             from json_to_recordset($1) as r (c text, i int, s bigint, k bigint, u int)`,
      values: [JSON.stringify(sales.map(([c, i, s, k, u]) => ({ c, i, s, k, u })))],
    })
  }
  const person = await signedInAs(eu1, 'OPERATOR_READ_ONLY')
  const { body } = await person.call('POST', '/account/tokens', {
    name: 'cells',
    scope: 'READ',
    days: 30,
    ...REAUTHENTICATION,
  })
  writeFileSync(path('token'), String(body.token))
})
afterAll(async () => {
  await Promise.all([main.stop(), eu1.stop()])
  rmSync(folder, { recursive: true })
})

async function read(other: object): Promise<Cells> {
  const nodes = (host: string) => [{ host }]
  const cells = [
    { name: 'main', nodes: nodes('10.0.0.1') },
    { name: 'eu1', nodes: nodes('10.0.0.2'), consoleUrl: `${origin}/console`, tokenFile: path('token'), ...other },
  ]
  writeFileSync(cellsFile, JSON.stringify({ cells }))
  const { status, body } = await operator.call('GET', '/cells')
  expect(status).toBe(200)
  return body as unknown as Cells
}

describe('figures across cells', () => {
  it('contain each cell’s figures and the totals by currency', async () => {
    const { cells, total } = await read({})
    expect(cells.map(({ cell, fault }) => [cell, fault])).toEqual([
      ['main', null],
      ['eu1', null],
    ])
    expect(total.dealers).toBe(2)
    expect(total.days30).toEqual([
      { currencyCode: 'EUR', items: 5, revenue: 50_000, margin: 20_000, unknownItems: 2 },
      { currencyCode: 'USD', items: 1, revenue: 5_000, margin: 1_000, unknownItems: 0 },
    ])
    expect(total.today).toEqual(total.days30)
    expect(total.attention.underReview).toBe(0)
  })

  it('report which cell could not be read, and why', async () => {
    const faultOf = async (other: object) => (await read(other)).cells[1]!.fault
    expect(await faultOf({ consoleUrl: 'http://127.0.0.1:1/console' })).toMatch(/does not answer/)
    expect(await faultOf({ consoleUrl: undefined })).toMatch(/Give the cell a consoleUrl/)
    expect(await faultOf({ tokenFile: path('missing') })).toMatch(/token cannot be read/)
    writeFileSync(path('wrong'), 'dep_wrong')
    expect(await faultOf({ tokenFile: path('wrong') })).toMatch(/refuses the token/)
    expect(await faultOf({ name: 'eu2' })).toMatch(/CELL_NAME is eu1/)
    const { total } = await read({ consoleUrl: undefined })
    expect(total.dealers).toBe(1)
  })

  it('are available only with a cells file', async () => {
    writeFileSync(cellsFile, '{"cells": [{"name": "Main"}]}')
    expect(await operator.call('GET', '/cells')).toMatchObject({ status: 400, body: { code: 'INVALID_CELLS' } })
    const alone = await signedInAs(eu1, 'OPERATOR_ADMIN')
    expect(await alone.call('GET', '/cells')).toMatchObject({ status: 404, body: { code: 'NO_CELLS' } })
  })
})
