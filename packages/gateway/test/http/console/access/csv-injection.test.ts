import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '#http/console/console-routes.ts'
import { addPackage } from '#test/harness/shop.ts'
import {
  addTenant,
  type ConsoleTestbed,
  ORIGIN,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'
import { seedTenant } from '../seeded-console.ts'

/* Text entered by people must not become a formula when a file is opened in a spreadsheet. */

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

/** Files that contain only digits, checked names, states and times: no free text. */
const FILES_WITHOUT_TEXT = [
  '/stock/:supplier/batches/:batchId/codes.csv',
  '/suppliers.csv',
  '/price-groups.csv',
  '/price-plans/:planName/rules.csv',
  '/sale-rules.csv',
  '/exchange-rates.csv',
  '/supplier-reports/months.csv',
]

const exec = (text: string, ...values: unknown[]) => testbed.db.query({ text, values })

describe('CSV files', () => {
  it('no CSV file contains a formula that was entered as text', async () => {
    const FORMULA = '=HYPERLINK("https://evil.test","click")'
    const tenantId = await addTenant(testbed, FORMULA)
    const operator = await signedInAs(testbed, 'OPERATOR_ADMIN')
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, { amount: 1, reference: FORMULA, reason: '@x' })
    const inner = { amount: 1, reference: 'a;=WEBSERVICE("x")', reason: 'b;"+2' }
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, inner)
    await addPackage(testbed.db, 'JP', [{ supplier: 'sandbox', productCode: 'JP', cost: 5n }])
    await exec(`update packages set name = $1, description = $2`, FORMULA, "'=1;=2\n=3\t@4")
    const networks = [
      { locationCode: 'JP', locationName: 'Japan', operatorList: [{ operatorName: 'x;=1', networkType: '5G' }] },
    ]
    await exec(`update coverages set location_networks = $1`, JSON.stringify(networks))
    await exec(
      `insert into supplier_products values ('sandbox', 'P', $1, 'BASE', '{JP}', 1000, false, 7, 5, 'USD', true,
      now(), now())`,
      FORMULA,
    )
    await exec('update tenants set tenant_name = $1', FORMULA)
    await exec(`insert into daily_sales_packages values (now(), 'NEW', 'JP', '', 'USD', 1, 1, 0, 0, 1, 1)`)
    await operator.call('PUT', '/sale-rules/ALL', { currencyCode: 'USD', nameTemplate: '{name}' })
    await seedTenant(testbed, tenantId, 'JP')
    await operator.call('PUT', `/tenants/${tenantId}/own-prices/JP`, { price: 5 })
    await operator.call('POST', '/price-plans', { planName: 'GOLD', displayName: FORMULA })
    for (const change of [
      'update people set name = $1',
      'update wallet_adjustments set reason = $1',
      'update top_up_requests set reference = $1',
      `insert into alerts (tenant_id, alert_id, kind, audience, message)
       values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'LOW_STOCK', 'OPERATOR', $1)`,
      `insert into stock_levels (supplier, product_code, available) values ('sandbox', $1, 0)`,
      `insert into stock_batches (supplier, batch_id, product_code, batch_name, codes, available, imported_at)
       values ('sandbox', gen_random_uuid(), 'P', $1, 1, 1, now())`,
      `insert into unclaimed_esims (supplier, key, iccid) values ('sandbox', $1, '8985')`,
      `insert into supplier_prices (supplier, product_code, currency_code, price, seen_at)
       values ('sandbox', $1, 'USD', 6, now())`,
      'update package_suppliers set product_code = $1',
    ])
      await exec(change, FORMULA)
    const month = new Date().toISOString().slice(0, 7)
    const files = routes.filter(
      ({ answerType, path }) => answerType === 'text/csv' && !FILES_WITHOUT_TEXT.includes(path),
    )
    expect(files.length).toBeGreaterThan(15)
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    for (const { path, access } of files) {
      const reader = access.includes('OPERATOR_ADMIN') ? operator : dealer
      const query =
        /wallet|supplier-reports/.test(path) && !path.includes('prices')
          ? `?month=${month}`
          : path === '/sales.csv'
            ? '?by=package'
            : ''
      const names = { tenantId, packageCode: 'JP' } as Record<string, string>
      const address = path.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? '')
      const file = String((await reader.call('GET', address + query)).body)
      expect([path, file.includes('HYPERLINK')]).toEqual([path, true])
      // A formula starts a cell: at the start of a line or after a separator, quoted or not. Separators differ by
      // country. Only amounts start with a minus.
      expect([path, /(^|[,;\t])"*([=+@]|-(?!\d))/m.exec(file)?.[0]]).toEqual([path, undefined])
    }
    await exec(`update package_suppliers set product_code = 'JP'`)
    const imported = await testbed.app.inject({
      method: 'POST',
      url: '/console/api/packages/import?dryRun=true',
      headers: { origin: ORIGIN, cookie: operator.window.cookie, 'content-type': 'text/csv' },
      payload: String((await operator.call('GET', '/packages.csv')).body),
    })
    expect(imported.json()).toMatchObject({ rows: 1, unchanged: 1, errorRows: 0 })
  })
})

describe('e-mail addresses', () => {
  it.each([
    ...['a;=1@people.test', 'a@people.test,@x', 'A<a@people.test>', '"a"@people.test', 'a(b)@people.test'],
    ...['\u001b]0;a@people.test', 'a@people.test\u0007', 'a\u009b2J@people.test', 'a\u202e@people.test'],
  ])('an e-mail address with a separator, quote, formula or control character is refused: %j', async (email) => {
    const operator = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const invitation = { email, name: 'F', tenantId: null, role: 'OPERATOR_STAFF', ...REAUTHENTICATION }
    expect((await operator.call('POST', '/people', invitation)).status).toBe(400)
  })
})
