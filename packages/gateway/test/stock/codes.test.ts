import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exportBatch, findCodes, revealStockCode } from '#stock/stock-codes.ts'
import type { CsvRefused } from '#stock/stock-csv.ts'
import { BY, createStockTestbed, type StockTestbed } from './stock-testbed.ts'

let testbed: StockTestbed
beforeAll(async () => {
  testbed = await createStockTestbed()
})
beforeEach(() => testbed.clear())
afterAll(() => testbed.close())

describe('a code in stock', () => {
  it('is found in any state by its ICCID or first digits, without its activation code', async () => {
    await testbed.load(2)
    await testbed.order('K-9')
    const found = await findCodes(
      testbed.shop.db,
      `${testbed.iccids[0]!.slice(0, 4)} ${testbed.iccids[0]!.slice(4, 12)}`,
      10,
    )
    expect(found.map(({ state }) => state).sort()).toEqual(['FREE', 'RESERVED'])
    expect(JSON.stringify(found)).not.toContain('SECRET')
    expect(await findCodes(testbed.shop.db, `${testbed.iccids[1]}F`, 10)).toMatchObject([{ iccid: testbed.iccids[1] }])
    await expect(findCodes(testbed.shop.db, '898', 10)).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('can be revealed with an audit entry while it is unsold', async () => {
    await testbed.load(1)
    const [code] = await findCodes(testbed.shop.db, testbed.iccids[0]!, 1)
    expect(await revealStockCode(testbed.shop, code!, BY)).toMatchObject({ ac: expect.stringContaining('SECRET-') })
    await testbed.order('K-10')
    await expect(revealStockCode(testbed.shop, code!, BY)).rejects.toMatchObject({ code: 'CODE_SOLD' })
    const entries = await testbed.shop.db.query({
      text: `select after from audit_log where action = 'stock.view_code'`,
    })
    expect(entries).toEqual([{ after: { iccid: testbed.iccids[0] } }])
  })

  it('is exported with its state, and includes an unsold activation code only on request', async () => {
    const { batchId } = await testbed.load(2)
    await testbed.order('01M7YV3W62EGY972X1QAAAKC13-1')
    const exported = async (secrets?: StockTestbed['shop']['cipher']) => {
      const parts: string[] = []
      const write = async (part: string) => void parts.push(part)
      await exportBatch(testbed.shop, { supplier: 'warehouse', batchId, secrets }, BY, write)
      return parts.join('')
    }
    const states = await exported()
    expect(states).not.toContain('SECRET')
    expect(states.match(/SOLD,,01M7YV3W62EGY972X1QAAAKC13,/g)).toHaveLength(1)
    expect(states.match(/AVAILABLE/g)).toHaveLength(1)
    expect(await testbed.shop.db.query({ text: `select from audit_log where action = 'stock.export_codes'` })).toEqual(
      [],
    )
    expect((await exported(testbed.shop.cipher)).match(/SECRET-/g)).toHaveLength(1)
    expect(
      await testbed.shop.db.query({ text: `select from audit_log where action = 'stock.export_codes'` }),
    ).toHaveLength(1)
  })
})

it('a fault in a file is reported with its column and value, but without secrets', async () => {
  const text = `iccid,ac,pin,imsi\n123,LPA:1$a.example$X,,\n${makeIccid('8986', 1)},nonsense-code,,\n${makeIccid('8986', 2)},LPA:1$a.example$Y,12,\n${makeIccid('8986', 3)},LPA:1$a.example$Z,,44\n`
  const refused = testbed.load(0, { file: Readable.from([text]) })
  const { faults } = await refused.then(
    () => ({ faults: [] }),
    (error: CsvRefused) => error,
  )
  expect(faults).toMatchObject([
    { row: 2, column: 'iccid', value: '123' },
    { row: 3, column: 'ac' },
    { row: 4, column: 'pin', reason: 'A PIN must have 4 to 8 digits.' },
    { row: 5, column: 'imsi', value: '44' },
  ])
  expect(JSON.stringify(faults)).not.toMatch(/nonsense-code|"12"/)
})

it.each(['apn', 'confirmationCode'])('a control character in %s is reported as a fault in its row', async (column) => {
  const text = `iccid,ac,${column}\n${makeIccid('8986', 7)},LPA:1$a.example$X,web\0\n`
  const refused = testbed.load(0, { file: Readable.from([text]) })
  await expect(refused).rejects.toThrow(`row 2, ${column}: `)
})
