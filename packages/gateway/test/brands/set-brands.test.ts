import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brandFor } from '#brands/brand.ts'
import { BRANDS_MAX, putBrand } from '#brands/put-brand.ts'
import { addConsolePages } from '#http/console/console-pages.ts'
import { addBrandPictures } from '#http/public/brand-pictures.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '#test/http/console/console-testbed.ts'

let testbed: ConsoleTestbed
let pictures: FastifyInstance
let admin: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  testbed = await startConsole()
  pictures = Fastify()
  addBrandPictures(pictures, testbed)
  admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
})
afterAll(async () => {
  await pictures.close()
  await testbed.stop()
})

const PAGE = `<title>eSIM console</title><meta name="brand" content="" /><link rel="icon" type="image/svg+xml" href="./icon.svg" />`

const LOGO = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 10"><rect width="30" height="10" fill="#b8336a"/></svg>',
).toString('base64')
const ICON = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><circle cx="5" cy="5" r="5"/></svg>',
).toString('base64')

async function dealer(name: string) {
  const tenantId = await addTenant(testbed, name)
  const window = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  const path = `/tenants/${tenantId}/brands`
  return {
    ...window,
    tenantId,
    path,
    put: (brand: string, body: object) => window.call('PUT', `${path}/${brand}`, body),
    list: async () => (await window.call('GET', path)).body.brandList,
  }
}
const picturesOf = (tenantId: string) =>
  testbed.db.query({ text: 'select from brand_pictures where tenant_id = $1', values: [tenantId] })
const found = (tenantId: string | null, brand: string | null = null) => brandFor(testbed.deps, tenantId, brand)

describe('a brand of a dealer', () => {
  it('is set by its administrators, the first one as the default, and recorded', async () => {
    const lotus = await dealer('Lotus Travel')
    const settings = {
      name: 'Lotus Travel',
      accent: '#f5b800',
      legalLinks: [{ label: 'Terms', url: 'https://l.example/t' }],
    }
    expect((await lotus.put('lotus', { ...settings, supportEmail: null, pictures: { logoLight: LOGO } })).status).toBe(
      200,
    )
    expect((await lotus.put('outlet', { name: 'Outlet' })).status).toBe(200)
    const [first, second] = await lotus.list()
    expect(first).toMatchObject({ brand: 'lotus', isDefault: true, settings })
    expect(second).toEqual({ brand: 'outlet', isDefault: false, settings: { name: 'Outlet' }, pictures: {} })
    expect((await lotus.put('outlet', { name: 'Outlet', isDefault: true })).status).toBe(200)
    expect((await lotus.list()).map(({ brand, isDefault }: Record<string, unknown>) => [brand, isDefault])).toEqual([
      ['outlet', true],
      ['lotus', false],
    ])
    const { entries } = (await admin.call('GET', '/audit?action=brand.set')).body
    expect(entries[0]).toMatchObject({
      actor: lotus.email,
      subject: 'outlet',
      after: { name: 'Outlet', isDefault: true },
    })
  })

  it('keeps pictures that a change does not name, and deletes those that nothing names', async () => {
    const { put, list, tenantId } = await dealer('Pictures')
    await put('one', { name: 'One', pictures: { logoLight: LOGO, icon: ICON } })
    await put('two', { name: 'Two', pictures: { logoDark: LOGO } })
    expect(await picturesOf(tenantId)).toHaveLength(2)
    await put('one', { name: 'One again', pictures: { icon: null } })
    const [one, two] = await list()
    expect([one.settings.name, one.pictures]).toEqual(['One again', { logoLight: two.pictures.logoDark }])
    expect(await picturesOf(tenantId)).toHaveLength(1)
    await put('one', { name: 'One', pictures: { logoLight: ICON } })
    await put('two', { name: 'Two', pictures: { logoDark: null } })
    expect(await picturesOf(tenantId)).toHaveLength(1)
  })

  it('is deleted, the default one last', async () => {
    const { put, list, path, call, tenantId } = await dealer('Leaving')
    await put('one', { name: 'One', pictures: { logoLight: LOGO } })
    await put('two', { name: 'Two' })
    const refused = await call('DELETE', `${path}/one`)
    expect([refused.status, refused.body.code]).toEqual([409, 'BRAND_IS_DEFAULT'])
    expect((await call('DELETE', `${path}/two`)).status).toBe(200)
    expect((await call('DELETE', `${path}/one`)).status).toBe(200)
    expect((await call('DELETE', `${path}/one`)).status).toBe(404)
    expect([await list(), await picturesOf(tenantId)]).toEqual([[], []])
  })

  it('is one of a limited number, and one of simultaneous first ones is the default', async () => {
    const { tenantId, list } = await dealer('Many')
    const names = Array.from({ length: BRANDS_MAX + 2 }, (_, index) => `b${index}`)
    const put = (brand: string) =>
      putBrand(testbed.deps, { tenantId, brand }, { input: { name: brand }, pictures: {}, isDefault: true }, SYSTEM)
    const results = await Promise.allSettled(names.map(put))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(2)
    const all = await list()
    expect(all.filter(({ isDefault }: { isDefault: boolean }) => isDefault)).toHaveLength(1)
    expect(all.length).toBe(BRANDS_MAX)
  })

  it('is never seen, changed or used by another dealer', async () => {
    const [lotus, other] = [await dealer('Lotus'), await dealer('Other')]
    await lotus.put('lotus', { name: 'Lotus', pictures: { logoLight: LOGO } })
    for (const [method, path, body] of [
      ['GET', lotus.path],
      ['PUT', `${lotus.path}/lotus`, { name: 'Stolen' }],
      ['DELETE', `${lotus.path}/lotus`],
    ] as const)
      expect((await other.call(method, path, body)).status).toBe(404)
    await other.put('mine', { name: 'Mine' })
    expect((await found(other.tenantId, 'lotus')).name).toBe('Mine')
    expect((await lotus.list())[0].settings.name).toBe('Lotus')
  })
})

describe('the operator’s brand', () => {
  it('includes the contact, and is what dealers without a brand have', async () => {
    expect((await admin.call('GET', '/operator-brand')).body).toMatchObject({
      settings: { name: 'eSIM' },
      isSet: false,
    })
    const settings = {
      name: 'Meridian Mobile',
      accent: '#14655a',
      supportEmail: 'care@m.example',
      senderName: 'Meridian',
    }
    const set = await admin.call('PUT', '/operator-brand', { ...settings, pictures: { icon: ICON, logoLight: LOGO } })
    expect(set.status).toBe(200)
    await admin.call('PUT', '/operator-brand', { ...settings, pictures: { logoLight: null } })
    const { body } = await admin.call('GET', '/operator-brand')
    expect(body).toEqual({ settings, pictures: { icon: expect.any(String) }, isSet: true })
    const { tenantId } = await dealer('Plain')
    expect(await found(tenantId)).toMatchObject({
      ...settings,
      isOperator: true,
      icon: expect.stringMatching(/\.png$/),
    })
    expect((await admin.call('GET', '/operator-contact')).body).toMatchObject({ email: 'care@m.example' })
  })
})

describe('the page of the console', () => {
  it('brings the operator’s brand along, as text that does nothing', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'console-'))
    mkdirSync(join(directory, 'assets'))
    writeFileSync(join(directory, 'index.html'), PAGE)
    const app = Fastify()
    addConsolePages(app, { directory, prefix: '', ids: testbed.deps.ids, httpsOnly: false, db: testbed.db })
    const read = async () => (await app.inject('/console/orders')).body
    const name = `</title><script>alert(1)</script>"'$&`
    await admin.call('PUT', '/operator-brand', { name, accent: '#ffffff', pictures: { icon: ICON } })
    const page = await read()
    expect(page).not.toContain('<script')
    expect(page).toContain('<title>&lt;/title&gt;&lt;script&gt;')
    const [, icon = ''] =
      /<link rel="icon" type="image\/png" href="\.\/(brand\/[0-9a-f]{64}\.png)" \/>/.exec(page) ?? []
    expect((await app.inject(`/console/${icon}`)).headers['content-type']).toBe('image/png')
    const [, content = ''] = /name="brand" content="([^"]*)"/.exec(page) ?? []
    const signs: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" }
    const shown = JSON.parse(content.replaceAll(/&([#\w]+);/g, (_, sign) => signs[sign]!))
    expect(shown).toMatchObject({ name, icon })
    expect(shown.colours.light).toMatchObject({ fill: '#ffffff', onFill: '#000000' })
    expect(shown.colours.light.accent).not.toBe('#ffffff')
    await app.close()
    rmSync(directory, { recursive: true })
  })
})

describe('a picture', () => {
  it('is served as what it is and nothing else, under its own policy', async () => {
    const { put, list } = await dealer('Served')
    await put('one', { name: 'One', pictures: { logoLight: LOGO } })
    const [{ pictures: addresses }] = await list()
    const answer = await pictures.inject(addresses.logoLight)
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'image/png'])
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'cache-control': 'public, max-age=31536000, immutable',
    })
    const [, name = ''] = /brand\/(.*)\.png/.exec(addresses.logoLight) ?? []
    for (const wrong of [
      `${name}.svg`,
      name,
      `${name.slice(0, 32)}${'0'.repeat(32)}.png`,
      `${'0'.repeat(32)}${name.slice(32)}.png`,
      '..%2f..%2fx.png',
    ])
      expect((await pictures.inject(`/brand/${wrong}`)).statusCode).toBe(404)
  })

  it.each([
    ['a script', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['a page', '<html><body>Hello</body></html>'],
  ])('with %s is refused at its field, and nothing is saved', async (_, file) => {
    const { put, list } = await dealer('Hostile')
    const { status, body } = await put('one', {
      name: 'One',
      pictures: { logoDark: Buffer.from(file).toString('base64') },
    })
    expect([status, body.code, Object.keys(body.data.fields)]).toEqual([422, 'PICTURE_INVALID', ['logoDark']])
    expect(await list()).toEqual([])
  })
})
