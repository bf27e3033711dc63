import { qrSvg } from '@dealer-esim/gateway/esims/qr/qr-picture.ts'
import { DOCS_ICON } from '@dealer-esim/gateway/http/public/docs-style.ts'
import { qrPage, sharePage, TRAVELLER_PAGE_POLICY } from '@dealer-esim/gateway/http/public/traveller-page.ts'
import axe from 'axe-core'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isBrowserAvailable, launchChromium } from './chromium.ts'

const MATCHING_ID = 'K2-9XQ4TJ-1YB7PD-0000-1111-2222-3333'
const AC = `LPA:1$a-rather-long-name.rsp.smdp.example.com$${MATCHING_ID}$$1`
const CONTENT = {
  ac: AC,
  smdpAddress: 'a-rather-long-name.rsp.smdp.example.com',
  matchingId: MATCHING_ID,
  isConfirmationCodeRequired: true,
  confirmationCode: '4711-0000',
  apn: 'plus.example',
  msisdn: '+85200000000',
  iccid: '8985200000000000017',
  packageName: 'Japan & South Korea, 10 GB, 30 days',
  kycUrl: 'https://identity.example.com/checks/a-rather-long-name-0000-1111-2222-3333',
  terms: { description: 'Includes 100 minutes of calls and 20 SMS.', fupPolicy: 'At most 1 Mbps after 2 GB a day' },
}

/** The eSIM of a share link after its installation. */
const INSTALLED = {
  ...{ codes: undefined, iccid: CONTENT.iccid, packageName: CONTENT.packageName, esimStatus: 'IN_USE' as const },
  ...{
    suspended: true,
    totalVolume: 10_737_418_240n,
    orderUsage: 4_000_000_000n,
    installBefore: null,
    installationTime: new Date('2026-11-20T09:05:00Z'),
    apn: CONTENT.apn,
    msisdn: CONTENT.msisdn,
    terms: CONTENT.terms,
  },
  ...{ usageUpdateTime: new Date('2026-11-20T13:28:09Z'), expiredTime: new Date('2026-12-20T10:00:00Z') },
}

/** The page of a QR link on a phone: its policy, accessibility and use. */
describe.skipIf(!isBrowserAvailable())('a QR link page in a browser', () => {
  let app: FastifyInstance
  let browser: Browser
  let baseUrl: string

  beforeAll(async () => {
    app = Fastify()
    app.get('/qr/token', (_, reply) =>
      reply
        .header('content-security-policy', TRAVELLER_PAGE_POLICY)
        .type('text/html; charset=utf-8')
        .send(qrPage('token', CONTENT)),
    )
    app.get('/share/token', (_, reply) =>
      reply
        .header('content-security-policy', TRAVELLER_PAGE_POLICY)
        .type('text/html; charset=utf-8')
        .send(sharePage('token', INSTALLED)),
    )
    app.get('/qr/token.svg', (_, reply) => reply.type('image/svg+xml').send(qrSvg(AC)))
    app.get('/docs/icon.svg', (_, reply) => reply.type('image/svg+xml').send(DOCS_ICON))
    baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  test.each(['light', 'dark'] as const)('fits a phone and has no accessibility violations, %s', async (colorScheme) => {
    const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 844 } })
    const browserErrors: string[] = []
    page.on('console', (message) => message.type() === 'error' && browserErrors.push(message.text()))
    await page.goto(`${baseUrl}/qr/token`, { waitUntil: 'load' })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    expect(await page.evaluate(() => document.querySelector('img')!.naturalWidth)).toBeGreaterThan(0)
    // The policy allows its style sheet.
    expect(await page.evaluate(() => getComputedStyle(document.querySelector('.button')!).display)).toBe('block')
    await page.evaluate(axe.source) // through the debugger, which the policy does not affect
    const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
    expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([])
    expect(browserErrors).toEqual([])
    await page.close()
  })

  test.each(['light', 'dark'] as const)(
    'of a share link fits a phone after installation, without accessibility violations, %s',
    async (colorScheme) => {
      const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 844 } })
      await page.goto(`${baseUrl}/share/token`, { waitUntil: 'load' })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
      expect(await page.getByRole('progressbar', { name: 'Data used' }).getAttribute('value')).toBe('37')
      await page.getByText('In use, suspended').waitFor()
      await page.evaluate(axe.source)
      const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
      expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([])
      await page.close()
    },
  )

  test('selects the whole code with one tap', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    await page.goto(`${baseUrl}/qr/token`)
    await page.getByText(MATCHING_ID, { exact: true }).click()
    expect(await page.evaluate(() => String(getSelection()))).toBe(MATCHING_ID)
    await page.close()
  })
})
