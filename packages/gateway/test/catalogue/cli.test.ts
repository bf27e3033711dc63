import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { admin, adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'

const NOBODY = '01a1fd66-89b3-76be-9561-3150f6a29e7a'

let database: TestDatabase
let folder: string

beforeAll(async () => {
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'dealer-esim-catalogue-'))
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('DATA_DIR', folder)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

test('packages and prices can be set, shown and listed', async () => {
  const shown = await adminJson(
    ...['package', 'set', 'JP_1_7', '--name', 'Japan', '--data-type', 'TOTAL', '--volume', '1.5GB', '--days', '7'],
    ...['--locations', 'jp', '--price', '4.50', '--currency', 'USD', '--supplier', 'stock:JP', '--supplier'],
    ...['sandbox:JP_1_7:2.70:EUR', '--allow-loss'],
  )
  expect(shown).toMatchObject({ volume: 1_610_612_736, price: 45_000, allowLoss: true, status: 'ON_SALE' })
  expect(shown.suppliers).toEqual([
    { supplier: 'stock', productCode: 'JP', costPrice: null, costCurrency: null },
    { supplier: 'sandbox', productCode: 'JP_1_7', costPrice: 27_000, costCurrency: 'EUR' },
  ])
  const { tenantId } = await adminJson('tenant', 'create', '--name', 'Acme')
  const pays = async () => (await adminJson('price', 'list', 'JP_1_7', '--tenant', tenantId))[0]
  expect(await pays()).toMatchObject({ price: 45_000, source: 'LIST' })
  await adminJson('price', 'plan', 'create', 'GOLD', '--percent', '-10')
  await adminJson('price', 'group', 'create', 'NORTH', '--plan', 'GOLD')
  await adminJson('price', 'group', 'add', 'NORTH', tenantId)
  expect(await pays()).toMatchObject({ price: 40_500, source: 'GROUP' })
  await adminJson('price', 'plan', 'create', 'FIXED', '--price', '3.99', '--currency', 'USD', '--package', 'JP_1_7')
  await adminJson('price', 'plan', 'assign', 'FIXED', '--tenant', tenantId)
  expect(await pays()).toMatchObject({ price: 39_900, source: 'PLAN' })
  await adminJson('price', 'set', 'JP_1_7', '1', '--tenant', tenantId)
  expect(await pays()).toMatchObject({ price: 10_000, source: 'OWN' })
  await adminJson('price', 'remove', 'JP_1_7', '--tenant', tenantId)
  await adminJson('price', 'plan', 'unassign', '--tenant', tenantId)
  await adminJson('price', 'group', 'remove', 'NORTH', tenantId)
  await adminJson('price', 'set', 'JP_1_7', '5', '--currency', 'USD', '--retail', '9.99')
  expect(await pays()).toMatchObject({ price: 50_000, retailPrice: 99_900, source: 'LIST' })
  expect(await adminJson('package', 'off-sale', 'JP_1_7')).toEqual({ status: 'OFF_SALE', packageCodes: ['JP_1_7'] })
  const [listed] = await adminJson('package', 'list', '--country', 'JP', '--supplier', 'stock')
  expect(listed).toMatchObject({ packageCode: 'JP_1_7', status: 'OFF_SALE', price: 50_000 })
  expect(await adminJson('price', 'plan', 'rename', 'FIXED', 'FLAT')).toMatchObject({ planName: 'FLAT', rules: [{}] })
  expect(await adminJson('price', 'plan', 'list')).toMatchObject([{ planName: 'FLAT' }, { planName: 'GOLD' }])
  const ofCost = ['price', 'plan', 'set', 'GOLD', '--percent', '20', '--of', 'cost', '--round', '.99']
  expect(await adminJson(...ofCost)).toMatchObject({ rules: [{ percent: '20', basis: 'COST', rounding: '.99' }] })
  expect((await admin('price', 'plan', 'show', 'GOLD')).stdout).toContain('every package: cost + 20 %, rounded to .99')
  // The supplier that is tried first has no known cost, and then a cost of 2.70.
  await adminJson('package', 'set', 'JP_1_7', '--status', 'ON_SALE')
  expect(await pays()).toMatchObject({ price: 50_000, source: 'LIST' })
  await adminJson('package', 'set', 'JP_1_7', '--supplier', 'sandbox:JP_1_7:2.70:USD')
  await adminJson('price', 'group', 'add', 'NORTH', tenantId)
  expect(await pays()).toMatchObject({ price: 39_900, source: 'GROUP' })
  expect(await adminFailure('price', 'plan', 'set', 'GOLD', '--percent=-5', '--of', 'cost')).toMatch(
    /must be 0 or more/,
  )
  expect(await adminFailure('price', 'plan', 'set', 'GOLD', '--percent', '5', '--round', '.x')).toMatch(
    /is not a valid rounding/,
  )
  expect(await adminJson('price', 'plan', 'delete', 'FLAT')).toEqual({ planName: 'FLAT', deleted: true })
})

test('every price command accepts a tenant id in upper case', async () => {
  const { tenantId } = await adminJson('tenant', 'create', '--name', 'Loud')
  const typed = tenantId.toUpperCase()
  const pays = async () => (await adminJson('price', 'list', 'JP_1_7', '--tenant', typed))[0]
  await adminJson('price', 'plan', 'create', 'TENTH', '--percent', '-10')
  await adminJson('price', 'group', 'create', 'SOUTH', '--plan', 'TENTH')
  expect(await adminJson('price', 'group', 'add', 'SOUTH', typed)).toMatchObject({ tenantIds: [tenantId] })
  expect(await pays()).toMatchObject({ price: 45_000, source: 'GROUP' })
  await adminJson('price', 'plan', 'assign', 'TENTH', '--tenant', typed)
  expect(await pays()).toMatchObject({ source: 'PLAN' })
  await adminJson('price', 'set', 'JP_1_7', '1', '--tenant', typed)
  expect(await pays()).toMatchObject({ price: 10_000, source: 'OWN' })
  await adminJson('price', 'remove', 'JP_1_7', '--tenant', typed)
  await adminJson('price', 'plan', 'unassign', '--tenant', typed)
  expect(await adminJson('price', 'group', 'remove', 'SOUTH', typed)).toMatchObject({ tenantIds: [] })
  expect(await pays()).toMatchObject({ price: 50_000, source: 'LIST' })
  expect(await adminFailure('price', 'list', '--tenant', NOBODY.toUpperCase())).toBe(`There is no tenant ${NOBODY}.`)
})

test('plans, groups and their members are set completely or not at all', async () => {
  const { tenantId } = await adminJson('tenant', 'create', '--name', 'Whole')
  expect(await adminFailure('price', 'plan', 'create', 'HALF', '--percent', '5', '--round', '.x')).toMatch(
    /is not a valid rounding/,
  )
  expect(await adminFailure('price', 'plan', 'show', 'HALF')).toBe('There is no price plan HALF.')
  expect(await adminFailure('price', 'group', 'create', 'EAST', '--plan', 'HALF')).toBe('There is no price plan HALF.')
  expect(await adminFailure('price', 'group', 'show', 'EAST')).toBe('There is no price group EAST.')
  await adminJson('price', 'group', 'create', 'EAST')
  expect(await adminFailure('price', 'group', 'add', 'EAST', tenantId, NOBODY)).toMatch(/no tenant/)
  expect(await adminJson('price', 'group', 'show', 'EAST')).toMatchObject({ tenantIds: [] })
})

test('the error names a file that cannot be written', async () => {
  expect(await adminFailure('package', 'export', '/no/such/folder.csv')).toBe(
    "ENOENT: no such file or directory, open '/no/such/folder.csv'",
  )
})

test('importing an export changes nothing, and its dry run says so', async () => {
  const file = join(folder, 'part.csv')
  expect(await adminJson('package', 'export', file, '--country', 'JP')).toMatchObject({ packages: 1, format: 'csv' })
  expect(await adminJson('package', 'import', file, '--dry-run')).toMatchObject({
    dryRun: true,
    unchanged: 1,
    changes: [],
  })
  expect(await adminJson('package', 'import', file)).toMatchObject({
    imported: true,
    unchanged: 1,
    added: 0,
    changed: 0,
  })
})

test('errors are reported by row and column, and the command fails', async () => {
  const file = join(folder, 'bad.csv')
  writeFileSync(file, 'packageCode,price:USD\n\nJP_1_7,one\n')
  const human = await admin('package', 'import', file)
  expect(human.code).toBe(1)
  expect(human.stdout).toMatch(/^Nothing was changed: 1 of 1 row has errors\.\n {2}row 3, JP_1_7, price:USD: .+\.\n$/)
  const machine = await admin('package', 'import', file, '--json')
  expect(machine).toMatchObject({ code: 1, stderr: '' })
  expect(JSON.parse(machine.stdout)).toMatchObject({ imported: false, errors: [{ row: 3, column: 'price:USD' }] })
})

test.each([
  ['package show NO_SUCH', 1, /no package NO_SUCH/],
  ['package off-sale', 2, /--all/],
  ['package set X_1 --volume 3', 2, /3 bytes\. Use 3GB or 3MB/],
  ['package set X_1 --name X', 1, /dataType: Missing/],
  ['price set JP_1_7 4,50 --currency USD', 2, /not an amount/],
  ['price set JP_1_7 4.50', 2, /--currency/],
  ['price plan set GOLD --percent ten', 2, /not a percentage/],
  ['price plan create WHERE --location JP', 2, /Give --percent, or --price with --currency/],
  ['price plan assign NO_SUCH --group NORTH', 1, /no price plan NO_SUCH/],
  ['price plan create GOLD', 1, /already/],
  ['price plan delete GOLD', 1, /The group NORTH has it\. Give them a different plan first/],
  ['price group delete NO_SUCH', 1, /no price group NO_SUCH/],
  ['package import /no/such/file.csv', 1, /no file \/no/],
  ['package import -', 2, /--format/],
])('%s fails with a message', async (command, code, message) => {
  const outcome = await admin(...command.split(' '))
  expect(outcome).toMatchObject({ code, stdout: '' })
  expect(outcome.stderr).toMatch(message)
  expect(outcome.stderr).not.toMatch(/ at .*:\d+:\d+/)
})

test('a dry run lists price and supplier changes, and warns about doubtful changes and unknown suppliers', async () => {
  await adminJson(
    'package',
    'set',
    'ZA_1_7',
    ...['--name', 'ZA', '--data-type', 'TOTAL', '--volume', '1GB', '--days', '7'],
    ...[...['--locations', 'ZA', '--price', '4.90', '--currency', 'USD', '--supplier', 'sandbox:ZA_1_7:2.70:USD']],
  )
  const path = join(folder, 'za.csv')
  writeFileSync(
    path,
    'packageCode,price:USD,supplier1,productCode1,costPrice1,costCurrency1\nZA_1_7,0.01,missing,P,2.70,USD\n',
  )
  const { code, stdout, stderr } = await admin('package', 'import', '--dry-run', path)
  expect([code, stdout]).toEqual([
    0,
    [
      'Dry run: nothing was changed. It would be 0 added, 1 changed, 0 unchanged.',
      'Check 1 package, marked with “!”.',
      '  ~ ZA_1_7',
      '    ! price: USD 4.90 → 0.01 (−99.8 %)',
      "    ! USD 0.01 is below the cheapest supplier's cost of 2.70",
      '      supplier 1: sandbox/ZA_1_7 → missing/P',
      '',
    ].join('\n'),
  ])
  expect(stderr).toContain('There is no supplier missing yet')
  const set = await admin('package', 'set', 'ZA_1_7', '--supplier', 'missing:P')
  expect(set.stderr).toBe(
    'There is no supplier missing yet, so its packages cannot be delivered. Add it with: supplier add\n',
  )
})

test.each<[string, Buffer, ...string[]]>([
  ['semicolons', Buffer.from('packageCode;name\nA;B\n')],
  ['tabs', Buffer.from('packageCode\tname\nA\tB\n')],
  ['two bytes for each letter', Buffer.from('packageCode,name\nA,B\n', 'utf16le'), '--encoding', 'utf-16le'],
  ['two bytes, and tabs', Buffer.from('\uFEFFpackageCode\tname\nA\tB\n', 'utf16le')],
])('a file with %s imports correctly', async (_, bytes, ...options) => {
  const path = join(folder, 'odd.csv')
  writeFileSync(path, bytes)
  const { code, stdout } = await admin('package', 'import', path, ...options)
  expect(code).toBe(1)
  expect(stdout).toMatch(/^Nothing was changed: 1 of 1 row has errors\.\n {2}row 2, A, dataType: /)
})

test('an ambiguous file is refused with the options that resolve the ambiguity', async () => {
  const path = join(folder, 'odd.csv')
  const head = 'packageCode,name,dataType,volume,duration,locationCodes,price:USD,supplier1,productCode1'
  writeFileSync(path, Buffer.from(`${head}\nE1,C\xF4te,TOTAL,1GB,7,FR,4.50,sandbox,X\n`, 'latin1'))
  const refused = await admin('package', 'import', path)
  expect(refused.code).toBe(1)
  expect(refused.stdout).toMatch(/Nothing was changed: the file cannot be read\.\n {2}row 2: Row 2 is not in UTF-8/)
  expect(refused.stdout).toMatch(/With --encoding windows-1252 or .* it reads:\n {2}E1,Côte,TOTAL/)
  expect(await adminJson('package', 'import', path, '--encoding', 'windows-1252')).toMatchObject({ added: 1 })
  const wrong = await admin('package', 'import', path, '--encoding', 'klingon')
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--encoding klingon is unknown/) })
  writeFileSync(path, 'SKU,Amount\nE1,5.00\n')
  const asked = await admin('package', 'import', path)
  expect(asked.stdout).toMatch(/Unknown columns “SKU”, “Amount”[\s\S]* --map [\s\S]*\n {2}SKU {3}such as E1\n/)
  const map = ['--map', 'packageCode=SKU,price:USD=Amount']
  expect(await adminJson('package', 'import', path, ...map)).toMatchObject({ changed: 1 })
  const malformed = await admin('package', 'import', path, '--map', 'SKU')
  expect(malformed).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--map must have the form/) })
})

test('a missing file and a price below zero are refused with a message', async () => {
  const absent = await admin('package', 'import', '/no/such.csv')
  expect(absent).toMatchObject({ code: 1, stderr: 'There is no file /no/such.csv.\n' })
  expect((await admin('package', 'import', '--format', 'csv', folder)).stderr).toContain('is a folder')
  const price = await admin('price', 'set', 'ZA_1_7', '-3', '--currency', 'USD')
  expect(price.code).toBe(2)
  expect(price.stderr).toContain('A price cannot be negative. Enter an amount such as 4.50.')
})
