import { readFileSync } from 'node:fs'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { SUPPLIER_TYPES } from '#suppliers/create-supplier.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { type Es2plusServer, startEs2plusServer } from '../harness/servers/es2plus-server.ts'
import { addPackage, addTenant, eventsOf, PRICE, payOrders, waitUntil, walletOf } from '../harness/shop.ts'

let shop: AdminTestbed
let server: Es2plusServer

beforeAll(async () => {
  shop = await createAdminTestbed()
  server = await startEs2plusServer()
})
afterAll(async () => {
  await server.close()
  await shop.close()
})

describe('supplier', () => {
  it('add stores a configuration with its PEM files encrypted', async () => {
    const { ca, cert, key } = server.identity
    for (const [name, text] of Object.entries({ 'ca.pem': ca, 'cert.pem': cert, 'key.pem': key })) shop.file(name, text)
    const config = { url: server.url, functionRequesterIdentifier: 'Secret-Requester', timeoutMs: 5_000 }
    const path = shop.file('smdp.json', JSON.stringify({ ...config, ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' }))
    expect(await adminJson('supplier', 'add', 'smdp', '--type', 'es2plus', '--config', path)).toEqual({
      name: 'smdp',
      type: 'es2plus',
      works: true,
      words: null,
    })
    const [row] = await shop.db.query<{ config: Buffer }>({
      text: `select config from suppliers where supplier = 'smdp'`,
    })
    for (const text of ['Secret-Requester', 'PRIVATE KEY', server.url]) expect(row!.config.includes(text)).toBe(false)
    expect(await adminJson('supplier', 'add', 'warehouse', '--type', 'stock')).toEqual({
      name: 'warehouse',
      type: 'stock',
      works: false,
      words: 'it has no codes: import some',
    })
    const { stdout } = await admin('supplier', 'list')
    expect(stdout).toMatch(/^ *smdp .* working /m)
    expect(stdout).toMatch(/^warehouse: failing since .*: it has no codes: import some$/m)
    expect(await shop.audited('supplier.add')).toMatchObject([
      { subject: 'smdp', after: { type: 'es2plus' } },
      { subject: 'warehouse', after: { type: 'stock' } },
    ])
  })

  it('add refuses an invalid configuration with a message', async () => {
    const add = (type: string, config?: unknown) =>
      adminFailure(
        ...['supplier', 'add', 'bad', '--type', type],
        ...(config === undefined ? [] : ['--config', shop.file('bad.json', JSON.stringify(config))]),
      )
    expect(await add('fax')).toBe(`The type must be one of ${SUPPLIER_TYPES.join(', ')}.`)
    expect(await add('es2plus', { foo: 1, url: 'smdp', timeoutMs: 5, iccidRange: { first: '1' } })).toBe(
      'The configuration is not valid for type es2plus: functionRequesterIdentifier is missing; unknown member foo; url must be an ' +
        'address that begins with https://; iccidRange.last is missing; iccidRange.first must be 19 digits; ' +
        'timeoutMs must be >= 100. docs/es2plus.md lists its members.',
    )
    expect(await add('stock', { colour: 'red' })).toContain('type stock: unknown member colour. ')
    const smdp = { url: 'https://smdp.example.com', functionRequesterIdentifier: '1' }
    expect(await add('es2plus', { ...smdp, cert: '-----BEGIN' })).toMatch(/cert and key belong together/)
    expect(await adminFailure('supplier', 'add', 'smdp', '--type', 'stock')).toBe(
      'A supplier named smdp already exists.',
    )
    expect(await adminFailure('supplier', 'add', 'x', '--type', 'stock', '--config', '/no/such.json')).toBe(
      'There is no file /no/such.json.',
    )
  })

  it('test fails with a message that explains the problem', async () => {
    expect(await adminJson('supplier', 'test', 'smdp')).toEqual({ name: 'smdp', works: true })
    expect(await adminFailure('supplier', 'test', 'warehouse')).toMatch(/no codes/)
    expect(await adminFailure('supplier', 'test', 'nobody')).toBe('There is no usable supplier nobody.')
    const config = { url: 'https://smdp.invalid', functionRequesterIdentifier: '1', timeoutMs: 5_000 }
    await adminJson(
      'supplier',
      'add',
      'astray',
      '--type',
      'es2plus',
      '--config',
      shop.file('astray.json', JSON.stringify(config)),
    )
    expect(await adminFailure('supplier', 'test', 'astray')).toMatch(/^astray: DNS: the name does not resolve/)
  })

  it('set replaces the configuration and records the changed members, without values, in the audit log', async () => {
    const config = { url: server.url, functionRequesterIdentifier: 'Other-Requester' }
    await adminJson('supplier', 'set', 'astray', '--config', shop.file('other.json', JSON.stringify(config)))
    expect(await adminFailure('supplier', 'test', 'astray')).toMatch(/^astray: TLS: the handshake failed/)
    const [entry] = await shop.audited('supplier.set')
    expect(entry).toMatchObject({ subject: 'astray' })
    expect((entry!.after!.changed as string[]).sort()).toEqual(['functionRequesterIdentifier', 'timeoutMs', 'url'])
    expect(JSON.stringify(entry)).not.toContain('Other-Requester')
    expect(await adminFailure('supplier', 'set', 'nobody', '--config', shop.file('none.json', '{}'))).toMatch(
      /no supplier nobody/,
    )
  })

  it('pause and resume are shown in the list and audited once each', async () => {
    const state = async () =>
      (await admin('supplier', 'list')).stdout.match(/^ *warehouse +stock +(paused|in use) /m)?.[1]
    await adminJson('supplier', 'pause', 'warehouse')
    await adminJson('supplier', 'pause', 'warehouse')
    expect(await state()).toBe('paused')
    await adminJson('supplier', 'resume', 'warehouse')
    expect(await state()).toBe('in use')
    expect([await shop.audited('supplier.pause'), await shop.audited('supplier.resume')]).toMatchObject([
      [{ subject: 'warehouse' }],
      [{ subject: 'warehouse' }],
    ])
  })
})

describe('stock', () => {
  const row = (n: number) => `${makeIccid('8985777', n)},LPA:1$smdp.example.com$CLI-${n}`
  const load = (path: string) => ['stock', 'import', path, '--supplier', 'warehouse', '--product', 'P'] as const

  const level = async () => {
    const { stockList } = (await adminJson('stock', 'list')) as {
      stockList: { supplier: string; productCode: string }[]
    }
    return stockList.find(({ supplier, productCode }) => supplier === 'warehouse' && productCode === 'P')
  }

  it('import shows its progress and the number of codes, and is audited', async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) => row(n))
    const run = await admin(...load(shop.file('codes.csv', `iccid,ac\n${rows.join('\n')}\n`)))
    expect(run).toMatchObject({ code: 0, stdout: 'Imported 10000 codes.\n' })
    const [unsold, end, ...before] = run.stderr.trimEnd().split('\n').reverse()
    expect(unsold).toMatch(
      /^No package sells P of warehouse yet\. Assign it: package set CODE --supplier warehouse:P\.$/,
    )
    expect(end).toBe('100 %: 10000 codes')
    for (const line of before) expect(line).toMatch(/^[1-9]0 %: \d+000 codes$/)
    expect(await level()).toEqual({
      ...{ supplier: 'warehouse', productCode: 'P', available: 10_000, lowAt: null, packageCodes: [] },
    })
    expect(await shop.audited('stock.import')).toEqual([
      {
        subject: 'warehouse',
        after: { productCode: 'P', codes: 10_000, batchName: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
      },
    ])
  })

  it('import of a file with faults stores nothing and reports each row', async () => {
    const path = shop.file('faults.csv', `iccid,ac\n${row(20_001)}\n12,LPA:1$a.example$X\n${row(20_002)}\n${row(3)}\n`)
    expect((await adminFailure(...load(path))).split('\n')).toEqual([
      'row 3, iccid: This is not a valid ICCID: enter 18 to 20 digits. Found: “12”.',
    ])
    const duplicates = shop.file('duplicates.csv', `iccid,ac\n${row(20_001)}\n${row(3)}\n${row(20_001)}\n`)
    expect((await adminFailure(...load(duplicates))).split('\n')).toEqual([
      expect.stringMatching(
        /^row 3, iccid: Its activation code is in the stock of warehouse already, product P, batch “\d{4}-\d\d-\d\d”/,
      ),
      expect.stringMatching(/^row 4, iccid: Its activation code is in row 2 too: remove one of them/),
    ])
    expect(await level()).toMatchObject({ available: 10_000 })
    expect(await adminFailure(...load('/no/such.csv'))).toBe('There is no file /no/such.csv.')
    expect(await adminFailure(...load(shop.file('odd.csv', 'iccid;ac\n1;2\n')))).toBe(
      'row 2, iccid: This is not a valid ICCID: enter 18 to 20 digits. Found: “1”.',
    )
    expect(await adminFailure('stock', 'import', path, '--supplier', 'smdp', '--product', 'P')).toMatch(
      /is a es2plus supplier/,
    )
  })

  it('import accepts ICCIDs with a wrong check digit and warns about them', async () => {
    const wrong = row(20_010).replace(/^\d{19}/, (iccid) => `${iccid.slice(0, 18)}${(Number(iccid[18]) + 1) % 10}`)
    const odd = shop.file('odd.csv', `iccid,ac\n${row(20_011)}\n${wrong}\n`)
    const run = await admin('stock', 'import', odd, '--supplier', 'warehouse', '--product', 'ODD')
    expect(run).toMatchObject({ code: 0, stdout: 'Imported 2 codes.\n' })
    expect(run.stderr).toMatch(/^ICCID 8985777\d{12} has a wrong check digit\./)
  })

  it('batches are listed with their alert days, and revealing or exporting codes is audited', async () => {
    const file = shop.file('batch.csv', `iccid,ac\n${row(30_001)}\n${row(30_002)}\n`)
    const terms = ['--name', 'Spring delivery', '--expires', '2099-06-30', '--alert-days', '20']
    await admin('stock', 'import', file, '--supplier', 'warehouse', '--product', 'SPRING', ...terms)
    const listed = await adminJson('stock', 'batches', '--product', 'SPRING')
    expect(listed).toMatchObject({ batches: [{ batchName: 'Spring delivery', codes: 2, available: 2, alertDays: 20 }] })
    const { batches } = listed as { batches: { batchId: string }[] }
    const { batchId } = batches[0]!
    expect(await adminJson('stock', 'batches', '--product', 'SPRING', '--expiring-within', '30')).toEqual({
      batches: [],
    })
    const tooFar = await admin('stock', 'batches', '--expiring-within', '2147483648')
    expect(tooFar).toMatchObject({ code: 2, stderr: expect.stringContaining('a whole number from 1 to 36500') })
    await adminJson('stock', 'alert', 'warehouse', batchId, 'none')
    expect(await adminJson('stock', 'batches', '--product', 'SPRING')).toMatchObject({ batches: [{ alertDays: null }] })

    const iccid = makeIccid('8985777', 30_001)
    const found = (await adminJson('stock', 'find', iccid)) as { codes: { codeId: string }[] }
    expect(found).toMatchObject({ codes: [{ iccid, productCode: 'SPRING', state: 'FREE' }] })
    expect(JSON.stringify(found)).not.toContain('CLI-')
    const code = await adminJson('stock', 'reveal', 'warehouse', found.codes[0]!.codeId)
    expect(code).toMatchObject({ ac: 'LPA:1$smdp.example.com$CLI-30001' })

    const path = shop.file('export.csv', '')
    await adminJson('stock', 'export', 'warehouse', batchId, path)
    expect(readFileSync(path, 'utf8')).toMatch(/^iccid,state,expiresAt,orderNo,soldAt\n\d+,AVAILABLE,2099-06-30/)
    expect(readFileSync(path, 'utf8')).not.toContain('CLI-')
    const toOutput = ['stock', 'export', 'warehouse', batchId, '-']
    expect(await admin(...toOutput)).toMatchObject({ code: 0, stdout: readFileSync(path, 'utf8') })
    expect(await admin(...toOutput, '--json')).toMatchObject({ code: 0, stdout: readFileSync(path, 'utf8') })
    expect(await admin(...toOutput, '--with-codes')).toMatchObject({ code: 2, stdout: '' })
    await adminJson('stock', 'export', 'warehouse', batchId, path, '--with-codes')
    expect(readFileSync(path, 'utf8')).toContain('LPA:1$smdp.example.com$CLI-30002')
    expect(await adminFailure('stock', 'export', 'warehouse', found.codes[0]!.codeId, path)).toMatch(
      /^There is no batch /,
    )
    expect(readFileSync(path, 'utf8')).toContain('CLI-30002') // a refused export does not empty the file
    expect(await adminFailure('stock', 'export', 'warehouse', batchId, '/no/such/folder.csv')).toBe(
      "ENOENT: no such file or directory, open '/no/such/folder.csv'",
    )
    expect([await shop.audited('stock.view_code'), await shop.audited('stock.export_codes')]).toMatchObject([
      [{ subject: 'warehouse', after: { iccid } }],
      [{ subject: 'warehouse', after: { batchName: 'Spring delivery', codes: 2 } }],
    ])
  })

  it('low sets the number of codes below which operators are alerted', async () => {
    const typo = ['stock', 'low', '50', '--supplier', 'warehouse', '--product', 'TYPO']
    expect(await adminFailure(...typo)).toMatch(/^warehouse has never had codes of TYPO, and no package sells it/)
    expect(await adminFailure(...typo.with(4, 'missing'))).toBe('There is no supplier missing.')
    expect(await adminUsageError(...typo.with(2, 'few'))).toBe('stock low takes a whole number from 0 on, not “few”.')
    await adminJson('stock', 'low', '50', '--supplier', 'warehouse', '--product', 'P')
    expect(await level()).toMatchObject({ lowAt: 50 })
    await adminJson('stock', 'low', 'none', '--supplier', 'warehouse', '--product', 'P')
    expect(await level()).toMatchObject({ lowAt: null })
    expect(await shop.audited('stock.low')).toMatchObject([
      { subject: 'warehouse', after: { productCode: 'P', lowAt: 50 } },
      { subject: 'warehouse', after: { productCode: 'P', lowAt: null } },
    ])
  })
})

describe('esim', () => {
  const cancel = (esimTranNo: string) => ['esim', 'cancel', esimTranNo, '--reason', 'bought twice']
  /** Places an order for one eSIM and waits for its delivery. */
  async function delivered(supplier: string) {
    await shop.suppliers.refresh()
    const packageCode = `OF_${supplier}_${Math.random().toString(36).slice(2)}`
    await addPackage(shop.db, packageCode, [{ supplier, productCode: 'P' }])
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, packageCode)
    const loop = fulfilmentLoop(shop)
    const profile = await waitUntil(async () => {
      const [row] = await shop.db.query<{ profileId: string; iccid: string }>({
        text: 'select profile_id, iccid from profiles where tenant_id = $1',
        values: [tenantId],
      })
      return row
    })
    await loop.stop(5_000)
    return { tenantId, esimTranNo: profile.profileId, iccid: profile.iccid }
  }

  it('cancel refunds once, after the supplier has cancelled the eSIM', async () => {
    const { tenantId, esimTranNo } = await delivered('sandbox')
    for (let n = 0; n < 2; n++) {
      const run = await admin(...cancel(esimTranNo))
      expect(run.code).toBe(n) // CANCEL the second time
      expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 1, refunded: PRICE })
    }
    expect((await eventsOf(shop.db, tenantId)).at(-1)!.content).toMatchObject({
      refundedAmount: 10_000,
      profiles: [{ esimTranNo, esimStatus: 'CANCEL' }],
    })
    expect(await shop.audited('order.cancel_esim')).toMatchObject([
      { after: { profileId: esimTranNo, reason: 'bought twice' } },
    ])
    expect((await admin('esim', 'cancel', esimTranNo)).code).toBe(2)
  })

  it('cancel does not refund an eSIM that is in use or that the supplier does not cancel', async () => {
    const used = await delivered('sandbox')
    await shop.db.query({
      text: `update profiles set smdp_status = 'INSTALLATION' where tenant_id = $1`,
      values: [used.tenantId],
    })
    expect(await adminFailure(...cancel(used.esimTranNo).with(-1, ''))).toMatch(
      /^The reason must be one line of 3 to 300 characters/,
    )
    expect(await adminFailure(...cancel(used.esimTranNo))).toMatch(/^The eSIM is INSTALLATION\. Only an eSIM/)
    const code = await delivered('warehouse')
    expect(await adminFailure(...cancel(code.esimTranNo))).toMatch(
      /did not cancel the eSIM: .* Nothing was refunded\.$/,
    )
    const installed = await delivered('smdp')
    server.orders.get(installed.iccid)!.state = 'INSTALLED'
    expect(await adminFailure(...cancel(installed.esimTranNo))).toMatch(/8\.2\.1\/3\.3/)
    for (const { tenantId } of [used, code, installed]) {
      expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 0 })
    }
  })

  it('settle ends an unanswered cancellation with the outcome that the supplier stated', async () => {
    const word = ['--evidence', 'Mail of Mr Ito: cancelled']
    const cancelled = await delivered('smdp')
    const settle = (esimTranNo: string, ...rest: string[]) => ['esim', 'settle', esimTranNo, ...rest]
    expect(await adminFailure(...settle(cancelled.esimTranNo, '--cancelled', ...word))).toMatch(
      /^There is nothing to resolve: no open action/,
    )
    const kept = await delivered('smdp')
    server.fault.cancelOrder = 'lost'
    for (const { esimTranNo } of [cancelled, kept]) {
      expect(await adminJson(...cancel(esimTranNo))).toEqual({ esimTranNo, outcome: 'unknown' })
    }
    delete server.fault.cancelOrder
    for (const verdicts of [[], ['--cancelled', '--kept'], ['--done', '--kept']]) {
      expect(await adminUsageError(...settle(cancelled.esimTranNo, ...verdicts, ...word))).toBe(
        'Use exactly one of --cancelled, --done and --kept.',
      )
    }
    expect(await adminFailure(...settle(cancelled.esimTranNo, '--cancelled', '--evidence', ''))).toMatch(
      /what the supplier said/,
    )
    await adminJson(...settle(cancelled.esimTranNo, '--cancelled', ...word))
    expect(await adminFailure(...settle(cancelled.esimTranNo, '--cancelled', ...word))).toMatch(
      /^There is nothing to resolve: no open action/,
    )
    await adminJson(...settle(kept.esimTranNo, '--kept', ...word))
    expect(await adminFailure(...settle(kept.esimTranNo, '--cancelled', ...word))).toMatch(
      /^There is nothing to resolve: no open action/,
    )
    expect(await walletOf(shop.db, cancelled.tenantId)).toMatchObject({ refunds: 1, refunded: PRICE })
    expect(await walletOf(shop.db, kept.tenantId)).toMatchObject({ refunds: 0 })
    expect(await shop.db.query({ text: `select from esim_actions where due_at is not null` })).toEqual([])
    expect(await shop.audited('order.settle_cancel')).toMatchObject([
      { after: { profileId: cancelled.esimTranNo, verdict: 'cancelled', evidence: 'Mail of Mr Ito: cancelled' } },
      { after: { profileId: kept.esimTranNo, verdict: 'kept' } },
    ])
  })
})
