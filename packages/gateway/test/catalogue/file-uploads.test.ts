import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { type ConsoleTestbed, signedInAs, startConsole } from '../http/console/console-testbed.ts'

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  await addSupplier(testbed.deps, { name: 'cards', type: 'stock', config: {} }, { actor: 'cli:test' })
  operator.headers['content-type'] = 'text/csv'
})
afterAll(() => testbed.stop())

const corpus = (file: string) => readFileSync(join(import.meta.dirname, 'corpus', file))

async function importPackages(file: Buffer, query = '') {
  return (await operator.call('POST', `/packages/import?dryRun=true${query}`, file)).body
}

/** @returns the last line of the answer */
async function importStock(file: string | Buffer, query: Record<string, string> = {}) {
  const terms = new URLSearchParams({ supplier: 'cards', productCode: 'P', ...query })
  const { body } = await operator.call('POST', `/stock/import?${terms}`, Buffer.from(file))
  return typeof body === 'string' ? JSON.parse(body.trimEnd().split('\n').at(-1)!) : body
}

test('an Excel workbook is imported, and an unsupported workbook format is reported', async () => {
  expect(await importPackages(corpus('libreoffice.xlsx'))).toMatchObject({ added: 2, errors: [] })
  for (const file of ['libreoffice.xls', 'libreoffice.ods']) {
    const { errors } = await importPackages(corpus(file))
    expect(errors).toMatchObject([{ row: 0, reason: expect.stringMatching(/\.(xls|ods)\b.*CSV/) }])
  }
  const { code, faults } = await importStock(corpus('libreoffice.ods'))
  expect([code, faults[0].reason]).toEqual(['CSV_REFUSED', expect.stringContaining('OpenDocument')])
})

test('the console asks for the encoding of packages that are not in UTF-8, and reads them accordingly', async () => {
  const file = corpus('excel-csv.csv')
  const { question } = await importPackages(file)
  expect(question.choices[0]).toMatchObject({
    encoding: 'windows-1252',
    rows: [expect.stringContaining('Côte d’Azur'), expect.anything()],
  })
  expect(await importPackages(file, '&encoding=windows-1252')).toMatchObject({ added: 2, errors: [] })
})

test('the console asks what unknown columns mean, and reads the codes accordingly', async () => {
  const file = `SIM;Code;Note\n${makeIccid('8985', 1)};LPA:1$smdp.example.com$A;x\n`
  const { code, question } = await importStock(file)
  expect([code, question.headers.map(({ header }: { header: string }) => header)]).toEqual([
    'CSV_REFUSED',
    ['SIM', 'Code', 'Note'],
  ])
  const map = JSON.stringify({ SIM: 'iccid', Code: 'ac' })
  expect(await importStock(file, { map })).toEqual({
    codes: 1,
    warnings: ['These columns were not read: Note.', expect.stringContaining('No package sells P')],
  })
})

test('a column map that is not a JSON object is refused', async () => {
  expect(await importStock('iccid,ac\n', { map: 'iccid=SIM' })).toMatchObject({ code: 'INVALID' })
})

test('a gateway failure during a code import is logged, as the message promises', async () => {
  const { log, cipher } = testbed.deps
  const logged: unknown[] = []
  const encrypt = () => {
    throw new Error('a broken key')
  }
  Object.assign(testbed.deps, { log: { ...log, error: (entry: unknown) => logged.push(entry) } })
  Object.assign(testbed.deps, { cipher: { ...cipher, encrypt } })
  const answer = await importStock(`iccid,ac\n${makeIccid('89001234', 1n)},LPA:1$smdp.example.com$A\n`)
  Object.assign(testbed.deps, { log, cipher })
  expect(answer).toEqual({ code: 'INTERNAL_ERROR', message: expect.stringContaining('See the log for details') })
  expect(logged).toEqual([{ err: expect.objectContaining({ message: 'a broken key' }) }])
})
