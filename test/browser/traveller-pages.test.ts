import { brandColours } from '@dealer-esim/contract'
import { composeInBrand } from '@dealer-esim/gateway/alerts/mail/mail-template.ts'
import { linkMail } from '@dealer-esim/gateway/alerts/mail/mail-texts.ts'
import { composeTravellerMail } from '@dealer-esim/gateway/alerts/mail/traveller-mail.ts'
import type { Brand } from '@dealer-esim/gateway/brands/brand.ts'
import { type BrandInput, checkBrand } from '@dealer-esim/gateway/brands/brand-members.ts'
import { accentOf } from '@dealer-esim/gateway/brands/brand-settings.ts'
import { TEXT_NAMES, TEXTS } from '@dealer-esim/gateway/esims/languages/texts.ts'
import { getLanguages, withTexts } from '@dealer-esim/gateway/esims/languages/traveller-language.ts'
import { qrSvg } from '@dealer-esim/gateway/esims/qr/qr-picture.ts'
import type { InstallCodes, TravellerEsim } from '@dealer-esim/gateway/esims/qr/traveller-esim.ts'
import { travellerMailOf } from '@dealer-esim/gateway/esims/sends/compose-mail.ts'
import { DOCS_ICON } from '@dealer-esim/gateway/http/public/docs/docs-style.ts'
import { cardPage } from '@dealer-esim/gateway/http/public/traveller/card-page.ts'
import { devicesPage } from '@dealer-esim/gateway/http/public/traveller/devices-page.ts'
import { endedPage, unknownPage } from '@dealer-esim/gateway/http/public/traveller/ended-pages.ts'
import { installPage } from '@dealer-esim/gateway/http/public/traveller/install-page.ts'
import { phoneOf } from '@dealer-esim/gateway/http/public/traveller/phone.ts'
import { statusPage } from '@dealer-esim/gateway/http/public/traveller/status-page.ts'
import { policyOf, type Reader } from '@dealer-esim/gateway/http/public/traveller/traveller-page.ts'
import axe from 'axe-core'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeQr, hasFonts, isBrowserAvailable, launchChromium, overflowOf } from './chromium.ts'

const MATCHING_ID = 'K2-9XQ4TJ-1YB7PD-0000-1111-2222-3333'
const AC = `LPA:1$a-rather-long-name.rsp.smdp.example.com$${MATCHING_ID}$$1`
const CODES: InstallCodes = {
  ...{ ac: AC, smdpAddress: 'a-rather-long-name.rsp.smdp.example.com', matchingId: MATCHING_ID },
  ...{ isConfirmationCodeRequired: true, confirmationCode: '4711-0000' },
  kycUrl: 'https://identity.example.com/checks/a-rather-long-name-0000-1111-2222-3333',
}
const ESIM: TravellerEsim = {
  ...{
    tenantId: 't',
    profileId: 'p',
    tenantName: 'Lotus Travel',
    packageName: 'South Georgia and the South Sandwich Islands 10 GB/day',
  },
  facts: {
    dataType: 'DAILY',
    volume: 10_000_000_000n,
    days: 30,
    activationPolicy: 'ON_FIRST_NETWORK',
    locations: ['GS'],
  },
  ...{
    description: 'Includes 100 minutes of calls.',
    fupPolicy: 'At most 1 Mbps after 2 GB a day',
    iccid: '8985200000000000017',
  },
  ...{ apn: 'plus.example', msisdn: '+85200000000', esimStatus: 'IN_USE', suspended: true },
  ...{ totalVolume: 10_000_000_000n, orderUsage: 3_700_000_000n, usageUpdateTime: new Date('2026-11-20T13:28:09Z') },
  ...{ installBefore: new Date('2027-05-27T17:04:00Z'), installationTime: new Date('2026-11-20T09:05:00Z') },
  expiredTime: new Date('2026-12-20T10:00:00Z'),
}
const PHONES = {
  iphone: phoneOf({ 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Mobile/15E148' }),
  desktop: phoneOf({}),
}
/** 105 × 148 mm at 96 pixels an inch. */
const A6_PIXELS = { width: 397, height: 559 }

const LOTUS = {
  ...{ name: 'Lotus Travel', accent: '#f5b800', topUpUrl: 'https://shop.example/' },
  ...{ supportEmail: 'help@a-rather-long-name-of-a-shop.example', supportPhone: '+44 20 7946 0018' },
  legalLinks: [{ label: 'Terms', url: 'https://shop.example/terms' }],
}
const MARKUP = `</title></style></script><script>taken()</script><img src=x onerror=taken()>"'>`
const HOSTILE_URL = 'https://evil.example/?a=1&quot;onclick=taken()&lt;script&gt;'
/** As dealers may save them: markup wherever it is accepted, and texts as long as they may be. */
const BRANDS = {
  lotus: LOTUS,
  open: { ...LOTUS, supportHours: '9–18' },
  hostile: {
    ...{ ...LOTUS, name: MARKUP, accent: '#ffffff', supportHours: MARKUP, topUpUrl: HOSTILE_URL },
    supportEmail: "a'onfocus='taken?bcc=all&body=%3Cb%3E@evil.example",
    legalLinks: [{ label: `</a><svg onload=taken()>"'`, url: HOSTILE_URL }],
    texts: Object.fromEntries(
      TEXT_NAMES.slice(0, 100).map((name) => [name, `${MARKUP}${TEXTS[name].map((value) => `{${value}}`).join('')}`]),
    ),
  },
  long: {
    ...{ ...LOTUS, name: 'W'.repeat(100), supportHours: 'W'.repeat(100), supportPhone: '0'.repeat(39) },
    supportEmail: `${'w'.repeat(64)}@${'w'.repeat(60)}.${'w'.repeat(60)}.example`,
    legalLinks: Array.from({ length: 5 }, () => ({ label: 'W'.repeat(40), url: 'https://shop.example/' })),
  },
} satisfies Record<string, BrandInput>
type BrandName = keyof typeof BRANDS

function brandOf(name: BrandName): Brand {
  const settings = checkBrand(BRANDS[name])
  const colours = brandColours(accentOf(settings))
  const shown = { name: settings.name!, legalLinks: settings.legalLinks ?? [] }
  return { ...settings, ...shown, isOperator: false, colours, accentInk: colours.onAccent }
}

function readerOf(tag: string, phone: keyof typeof PHONES, brandName: BrandName = 'lotus'): Reader {
  const languages = getLanguages()
  const brand = brandOf(brandName)
  const language = withTexts(languages.get(tag)!, brand.texts)
  return { language, languages: [...languages.values()], brand, seller: brand.name, phone: PHONES[phone] }
}

/** The mail as a mail program shows it: with its picture. */
function mailIn(tag: string, brandName?: BrandName): string {
  const { language, brand, seller } = readerOf(tag, 'desktop', brandName)
  const link = 'https://esim.example/share/8Kd2vQ7pXw3nTz'
  const mail = travellerMailOf(language, { esim: ESIM, codes: CODES, seller, link, name: 'Hana' })
  return composeTravellerMail(mail, brand).html.replace('cid:qr', `data:image/png;base64,${mail.scan!.qrPng}`)
}

/** A mail to a person of a dealer, under the operator’s brand. */
function invitationIn(language: string, brandName: BrandName): string {
  const about = { name: 'Ada', link: 'https://esim.example/console/welcome#8Kd2vQ7pXw3nTz8Kd2vQ7pXw3nTz' }
  const { parts } = linkMail('INVITATION', about, { language, timeZone: null })
  return composeInBrand(parts!, brandOf(brandName), undefined).html
}

const PAGES = {
  install: (reader: Reader) => installPage(reader, 'token', ESIM, CODES),
  status: (reader: Reader) => statusPage(reader, ESIM),
  ended: (reader: Reader) => endedPage(reader, { kind: 'ENDED', esim: ESIM }),
  used: (reader: Reader) => endedPage(reader, { kind: 'USED', esim: ESIM }),
  replaced: (reader: Reader) => endedPage(reader, { kind: 'REPLACED', esim: ESIM }),
  mistyped: (reader: Reader) => unknownPage(reader),
  devices: (reader: Reader) => devicesPage(reader),
  card: (reader: Reader) => cardPage(reader, 'token', ESIM, CODES),
}
type PageKind = keyof typeof PAGES
const KINDS = Object.keys(PAGES) as PageKind[]

/** The travellers' pages in a browser, under their policy. */
describe.skipIf(!isBrowserAvailable())('a traveller’s page in a browser', () => {
  let app: FastifyInstance
  let browser: Browser
  let baseUrl: string

  beforeAll(async () => {
    app = Fastify()
    app.get<{ Querystring: { kind: PageKind; phone: keyof typeof PHONES; tag: string; brand: BrandName } }>(
      '/share/token',
      ({ query: { kind, phone, tag, brand } }, reply) => {
        const reader = readerOf(tag, phone, brand)
        reply.header('content-security-policy', policyOf(reader.brand)).type('text/html; charset=utf-8')
        return reply.send(PAGES[kind](reader))
      },
    )
    app.get('/share/token.svg', (_, reply) => reply.type('image/svg+xml').send(qrSvg(AC)))
    app.get('/*', (_, reply) => reply.type('image/svg+xml').send(DOCS_ICON))
    baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const urlOf = (tag: string, phone: keyof typeof PHONES, kind: PageKind, brand: BrandName = 'lotus') =>
    `${baseUrl}/share/token?tag=${tag}&phone=${phone}&kind=${kind}&brand=${brand}`
  const open = async (page: Page, tag: string, phone: keyof typeof PHONES, kind: PageKind) => {
    await page.goto(urlOf(tag, phone, kind))
    await openAll(page)
  }
  const openAll = (page: Page) =>
    page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) {
        details.removeAttribute('name') // so that all can be open
        details.open = true
      }
    })

  test('fits 320 px and a desktop in each language, light and dark, with everything open', async () => {
    const page = await browser.newPage()
    const faults = []
    for (const [phone, width, kinds] of [
      ['iphone', 320, ['install', 'status', 'ended', 'used', 'replaced', 'mistyped']],
      ['desktop', 1280, ['install', 'status']],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      for (const tag of getLanguages().keys())
        for (const kind of kinds) {
          await page.setContent(PAGES[kind](readerOf(tag, phone)), { waitUntil: 'domcontentloaded' })
          await openAll(page)
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme })
            const wide = await overflowOf(page)
            if (wide.length > 0) faults.push([tag, phone, kind, width, colorScheme, ...wide])
          }
        }
    }
    expect(faults).toEqual([])
    await page.close()
  })

  test.each([
    ['en', 'install'],
    ['en', 'status'],
    ['en', 'devices'],
    ['en', 'card'],
    ['ar', 'install'],
    ['he', 'replaced'],
  ] as const)('in %s has no accessibility violations and breaks no rule of its policy: %s', async (tag, kind) => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    const browserErrors: string[] = []
    page.on('console', (message) => message.type() === 'error' && browserErrors.push(message.text()))
    await page.goto(urlOf(tag, 'iphone', kind), { waitUntil: 'load' })
    await page.evaluate(axe.source) // through the debugger, which the policy does not affect
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
      expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([])
    }
    expect(browserErrors).toEqual([])
    await page.close()
  })

  test('under a brand of hostile texts has no element, attribute, script or request that others have not', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    const [faults, foreign]: string[][] = [[], []]
    page.on('console', (message) => message.type() === 'error' && faults!.push(message.text()))
    page.on('request', (request) => /^http(?!:\/\/127)/.test(request.url()) && foreign!.push(request.url()))
    await page.addInitScript(() => {
      const taken = () => document.documentElement.append(document.createElement('taken'))
      Object.assign(window, { taken, print: () => undefined })
    })
    /** Each element with its attributes, and with what a link to an address sets of the e-mail. */
    const elements = () =>
      page.evaluate(() =>
        Array.from(document.querySelectorAll<HTMLAnchorElement>('*'), ({ localName, attributes, protocol, search }) =>
          [localName, ...Array.from(attributes, ({ name }) => name), protocol === 'mailto:' && search].join(' '),
        ),
      )
    for (const kind of KINDS) {
      await page.goto(urlOf('en', 'iphone', kind, 'open'))
      const expected = await elements()
      await page.goto(urlOf('en', 'iphone', kind, 'hostile'))
      expect([kind, await elements()]).toEqual([kind, expected])
      expect(await page.locator('.brand').innerText()).toBe(MARKUP)
    }
    await page.goto('about:blank') // mails have no policy
    for (const mailOf of [mailIn, invitationIn]) {
      await page.setContent(mailOf('en', 'open'))
      const expected = await elements()
      await page.setContent(mailOf('en', 'hostile'))
      expect([mailOf.name, await elements()]).toEqual([mailOf.name, expected])
    }
    expect([faults, foreign]).toEqual([[], []])
    await page.close()
  })

  test('fits 320 px under a brand whose every text is as long as it may be, and so do its mails', async () => {
    const page = await browser.newPage({ viewport: { width: 320, height: 800 } })
    const faults = []
    for (const tag of ['en', 'ar']) {
      const pages = KINDS.map((kind) => [kind, PAGES[kind](readerOf(tag, 'iphone', 'long'))])
      for (const [kind, html] of [...pages, ['mail', mailIn(tag, 'long')], ['invitation', invitationIn(tag, 'long')]]) {
        await page.setContent(html!, { waitUntil: 'domcontentloaded' })
        await openAll(page)
        const wide = await overflowOf(page)
        if (wide.length > 0) faults.push([tag, kind, ...wide])
      }
    }
    expect(faults).toEqual([])
    await page.close()
  })

  test.skipIf(!hasFonts())('shows each letter of each language rather than a box', async () => {
    const page = await browser.newPage()
    for (const [tag, { texts, ownName }] of getLanguages()) {
      const letters = [...new Set(Object.values(texts).join('') + ownName)]
      const boxes = await page.evaluate((all) => {
        const drawn = (letter: string) => {
          const canvas = Object.assign(document.createElement('canvas'), { width: 48, height: 48 })
          const context = canvas.getContext('2d')!
          context.font = '32px sans-serif'
          context.fillText(letter, 8, 36)
          return canvas.toDataURL()
        }
        const box = drawn('\u0378') // no letter has this code
        return all.filter((letter) => drawn(letter) === box)
      }, letters)
      expect([tag, boxes]).toEqual([tag, []])
    }
    await page.close()
  })

  test('runs from right to left in Arabic, but its codes do not', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
    await open(page, 'ar', 'iphone', 'install')
    const left = async (selector: string) => (await page.locator(selector).first().boundingBox())!.x
    expect(await left('.letter')).toBeGreaterThan(await left('.lang'))
    expect(await left('.pic')).toBeGreaterThan(await left('.steps h3'))
    const directions = await page.evaluate(() => [
      getComputedStyle(document.body).direction,
      getComputedStyle(document.querySelector('code')!).direction,
    ])
    expect(directions).toEqual(['rtl', 'ltr'])
    await page.close()
  })

  test('selects the whole code with one tap, and copies it with another', async () => {
    const context = await browser.newContext({
      viewport: { width: 390, height: 844 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const page = await context.newPage()
    await open(page, 'en', 'iphone', 'install')
    await page.getByText(MATCHING_ID, { exact: true }).last().click()
    expect(await page.evaluate(() => String(getSelection()))).toBe(MATCHING_ID)
    await page.getByRole('button', { name: 'Copy: Activation code' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(MATCHING_ID)
    await page.getByRole('button', { name: /^Copy: Confirmation code/ }).click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('4711-0000')
    await context.close()
  })

  test('works without JavaScript: nothing but the copy buttons is missing', async () => {
    const context = await browser.newContext({ viewport: { width: 320, height: 800 }, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(urlOf('en', 'iphone', 'install'))
    await page.getByText('Use another phone').click()
    await page.getByRole('img', { name: 'QR code that installs the eSIM' }).waitFor()
    await page.getByText('English').first().click()
    expect(await page.getByRole('link', { name: '日本語' }).getAttribute('href')).toBe('?lang=ja')
    expect(await page.getByRole('button').count()).toBe(0)
    await context.close()
  })

  test('shows a QR code that decodes to the activation code, on a screen and on paper, in the dark too', async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark' })
    await page.goto(urlOf('en', 'desktop', 'install'))
    expect(await decodeQr(page.locator('img.qr'))).toBe(AC)
    await page.emulateMedia({ media: 'print' })
    expect(await decodeQr(page.locator('.paper img'))).toBe(AC)
    expect(await page.locator('.button').first().isVisible()).toBe(false)
    await page.close()
  })

  test('prints a card in each language on one side of A6, with a QR code that decodes, in the dark too', async () => {
    const page = await browser.newPage({ viewport: A6_PIXELS, deviceScaleFactor: 2, colorScheme: 'dark' })
    // The browser’s own dialog would print the page while the test does.
    await page.addInitScript('window.print = () => undefined')
    await page.emulateMedia({ media: 'print' })
    const faults = []
    for (const tag of getLanguages().keys()) {
      await page.goto(urlOf(tag, 'desktop', 'card'))
      const { scrollHeight, scrollWidth } = await page.evaluate(() => {
        const card = document.querySelector('.wrap')!
        return { scrollHeight: card.scrollHeight, scrollWidth: card.scrollWidth }
      })
      if (scrollHeight > A6_PIXELS.height || scrollWidth > A6_PIXELS.width)
        faults.push([tag, scrollHeight, scrollWidth])
    }
    expect(faults).toEqual([])
    expect(await decodeQr(page.locator('.scan img'))).toBe(AC)
    const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1')
    expect(pdf.match(/\/Type\s*\/Page\b/g)).toHaveLength(1)
    expect(pdf).toMatch(/\/MediaBox\s*\[\s*0 0 29[78][.\d]* 4(19|20)/)
    await page.close()
  })

  test('opens the print dialog with a card, and with no other page', async () => {
    const page = await browser.newPage()
    await page.addInitScript(() => {
      window.print = () => void document.documentElement.setAttribute('data-printed', '')
    })
    for (const [kind, count] of [
      ['install', 0],
      ['card', 1],
    ] as const) {
      await page.goto(urlOf('en', 'desktop', kind))
      expect([kind, await page.locator('[data-printed]').count()]).toEqual([kind, count])
    }
    await page.close()
  })

  test('a mail in each language fits 320 and 600 px, light and dark, and its QR code decodes', async () => {
    const page = await browser.newPage()
    const faults = []
    const invitations = ['en', 'zh-Hans'].map((tag) => [`invitation in ${tag}`, invitationIn(tag, 'lotus')] as const)
    const mails = [...getLanguages().keys()].map((tag) => [tag, mailIn(tag)] as const)
    for (const width of [320, 600]) {
      await page.setViewportSize({ width, height: 800 })
      for (const [tag, html] of [...invitations, ...mails]) {
        await page.setContent(html)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const wide = await overflowOf(page)
          if (wide.length > 0) faults.push([tag, width, colorScheme, ...wide])
        }
      }
    }
    expect(faults).toEqual([])
    expect(await decodeQr(page.locator('img'))).toBe(AC)
    await page.close()
  })
})
