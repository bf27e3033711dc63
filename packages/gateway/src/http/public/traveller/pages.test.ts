import { brandColours, ESIM_STATUSES } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { getLanguages } from '#esims/languages/traveller-language.ts'
import type { InstallCodes, TravellerEsim } from '#esims/qr/traveller-esim.ts'
import { cardPage } from './card-page.ts'
import { devicesPage } from './devices-page.ts'
import { endedPage, unavailablePage, unknownPage } from './ended-pages.ts'
import { installPage } from './install-page.ts'
import { phoneOf } from './phone.ts'
import { statusPage } from './status-page.ts'
import type { Reader } from './traveller-page.ts'

const GIGABYTE = 1_000_000_000n
const IPHONE = phoneOf({ 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Mobile/15E148' })
const ANDROID = phoneOf({ 'user-agent': 'Mozilla/5.0 (Linux; Android 14; SM-S921B) Chrome/140.0.0.0 Mobile' })
const DESKTOP = phoneOf({})

const ESIM: TravellerEsim = {
  ...{ tenantId: 't', profileId: 'p', tenantName: 'Lotus <Travel>', packageName: 'Japan 10 GB 7 days' },
  facts: {
    dataType: 'TOTAL',
    volume: 10n * GIGABYTE,
    days: 7,
    activationPolicy: 'ON_FIRST_NETWORK',
    locations: ['JP'],
  },
  ...{ description: null, fupPolicy: null, iccid: '8985200000000000017', apn: null, msisdn: null },
  ...{ esimStatus: 'IN_USE', suspended: false, totalVolume: 10n * GIGABYTE, orderUsage: 3n * GIGABYTE },
  usageUpdateTime: new Date('2026-11-20T13:28:09Z'),
  installBefore: new Date('2027-05-01T00:00:00Z'),
  installationTime: null,
  expiredTime: new Date('2026-12-20T10:00:00Z'),
}

const CODES: InstallCodes = {
  ...{ ac: 'LPA:1$a.example.com$M', smdpAddress: 'a.example.com', matchingId: 'M' },
  ...{ isConfirmationCodeRequired: false, confirmationCode: null, kycUrl: null },
}

function reader(parts: Partial<Reader> = {}): Reader {
  const languages = [...getLanguages().values()]
  const colours = brandColours('#b8336a')
  return {
    language: getLanguages().get('en')!,
    languages,
    brand: { name: 'Lotus <Travel>', isOperator: false, colours, accentInk: colours.onAccent, legalLinks: [] },
    seller: 'Lotus <Travel>',
    phone: IPHONE,
    ...parts,
  }
}

/** The facts of the page by name. */
function factsOf(page: string): Record<string, string> {
  const plain = (text: string) =>
    text.replaceAll('<small>', ', ').replaceAll(/<[^>]*>|\u202f/g, (tag) => (tag === '\u202f' ? ' ' : ''))
  return Object.fromEntries(
    [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, plain(value!)]),
  )
}

const install = (codes: Partial<InstallCodes> = {}, esim: Partial<TravellerEsim> = {}, parts: Partial<Reader> = {}) =>
  installPage(reader(parts), 'token', { ...ESIM, ...esim }, { ...CODES, ...codes })
const status = (esim: Partial<TravellerEsim> = {}, parts: Partial<Reader> = {}) =>
  statusPage(reader(parts), { ...ESIM, ...esim })

describe('every page', () => {
  const pages = {
    install: install(),
    status: status(),
    devices: devicesPage(reader()),
    card: cardPage(reader(), 'token', ESIM, CODES),
    ended: endedPage(reader(), { kind: 'ENDED', esim: ESIM }),
    used: endedPage(reader(), { kind: 'USED', esim: ESIM }),
    replaced: endedPage(reader(), { kind: 'REPLACED', esim: ESIM }),
    mistyped: unknownPage(reader()),
    unavailable: unavailablePage(reader()),
  }

  it.each(Object.entries(pages))('%s names its seller, escaped, and has every symbol that it uses', (_, page) => {
    expect(page).toContain('<p class="brand"><bdi>Lotus &lt;Travel&gt;</bdi></p>')
    const used = new Set([...page.matchAll(/<use href="#([\w-]+)"/g)].map(([, name]) => name))
    const drawn = new Set([...page.matchAll(/<symbol id="([\w-]+)"/g)].map(([, name]) => name))
    expect(drawn).toEqual(used)
    expect(page).not.toMatch(/undefined|\{\w+\}(?![^<]*<\/style>)(?![^<]*<\/script>)/)
  })

  it('writes to its seller’s address, and sets nothing else of the e-mail', () => {
    const { brand } = reader()
    const page = endedPage(reader({ brand: { ...brand, supportEmail: 'a?bcc=b&c@lotus.example' } }), {
      kind: 'REPLACED',
      esim: ESIM,
    })
    expect([...page.matchAll(/href="(mailto:[^"]*)"/g)].map(([, url]) => url)).toEqual(
      Array(2).fill('mailto:a%3Fbcc%3Db%26c@lotus.example'),
    )
    expect(page).toContain('>a?bcc=b&amp;c@lotus.example</bdi>')
  })

  it('has less than 20 kB without its pictures, in each language and on each device', () => {
    const sizeOf = (page: string) => Buffer.byteLength(page.replaceAll(/<svg.*?<\/svg>/gs, ''))
    const sizes = [...getLanguages().values()].flatMap((language) =>
      [IPHONE, ANDROID, DESKTOP].map((phone) => [
        language.tag,
        phone.kind,
        sizeOf(install({}, {}, { language, phone })),
      ]),
    )
    expect(sizes.filter(([, , size]) => Number(size) >= 20_000)).toEqual([])
  })
})

describe('the page of an eSIM that is not installed', () => {
  it('shows the package contents and fair use policy, before and after the installation', () => {
    const terms = { description: 'Includes 100 minutes of calls.', fupPolicy: '1 Mbps after <2> GB a day' }
    const shown = {
      'About this package': 'Includes 100 minutes of calls.',
      'Fair use': '1 Mbps after &lt;2&gt; GB a day',
    }
    expect(factsOf(install({}, terms))).toMatchObject(shown)
    expect(factsOf(status(terms))).toMatchObject(shown)
    expect(status()).not.toContain('About this package')
  })

  it('says what it is, until when it can be installed and when it starts, at the time of the destination', () => {
    const page = install()
    expect(page).toContain('<h1><bdi>Japan</bdi> <span><bdi>10 GB</bdi> · <bdi>7 days</bdi></span></h1>')
    expect(page).toContain('<img class="flag" src="../flags/JP.svg"')
    expect(factsOf(page)).toEqual({
      'Install before': '1 May 2027, 09:00 Japan Time',
      Starts: 'On your first connection there',
    })
  })

  it('links to the traveller’s identity check', () => {
    const link = 'href="https://kyc.example.com/a?b=1&amp;c=2"'
    expect(install({ kycUrl: 'https://kyc.example.com/a?b=1&c=2' })).toContain(link)
    expect(install()).not.toContain('identity')
  })

  it('shows the confirmation code on the screen, never on paper, or says to ask for it', () => {
    const page = install({ isConfirmationCodeRequired: true, confirmationCode: '47<11>' })
    expect(page.match(/47&lt;11&gt;/g)).toHaveLength(1)
    expect(page).toContain('<div class="card pad screen"><div class="code"><span>Confirmation code')
    expect(install({ isConfirmationCodeRequired: true })).toContain('Ask for it before you begin')
    expect(install()).not.toMatch(/confirmation code/i)
  })

  it.each([...getLanguages().keys()])(
    'shows a known confirmation code in %s, as a code with a button to copy it',
    (tag) => {
      const language = getLanguages().get(tag)!
      const page = install({ isConfirmationCodeRequired: true, confirmationCode: '4711' }, {}, { language })
      const code = `<span>${language.texts.confirmationCode}</span><code dir="ltr" translate="no">4711</code>`
      expect(page.split(`<div class="code">${code}`)).toHaveLength(2)
      expect(page).toContain(`data-copy="${language.texts.copy}"`)
      expect(page).not.toContain(language.texts.askForConfirmationCode.split('{seller}')[0])
    },
  )

  it('is printed as a card that has the codes to type, but says of a confirmation code only whom to ask for it', () => {
    const required = { isConfirmationCodeRequired: true, confirmationCode: '4711', kycUrl: 'https://kyc.example.com/a' }
    const card = cardPage(reader({ phone: DESKTOP }), 'token', ESIM, { ...CODES, ...required })
    for (const part of [
      'src="token.svg"',
      '>a.example.com</code>',
      '>M</code>',
      'Ask for it before you begin',
      'data-print',
    ])
      expect(card).toContain(part)
    for (const secret of ['4711', ESIM.iccid, 'kyc.example.com', 'LPA:']) expect(card).not.toContain(secret)
    const plainCard = cardPage(reader(), 'token', ESIM, { ...CODES, matchingId: '' })
    for (const absent of ['confirmation code', 'Activation code', 'who you are'])
      expect(plainCard).not.toContain(absent)
    expect(install()).not.toContain('data-print')
  })

  it('shows a known access point once, before and after the installation', () => {
    for (const page of [install, (_: object, esim: object) => status(esim)]) {
      expect(page({}, { apn: 'plus<1>' }).match(/<code [^>]*>plus&lt;1&gt;<\/code>/g)).toHaveLength(1)
      expect(page({}, {})).not.toContain('APN')
    }
  })

  it('names the countries of a package for several, and no flag', () => {
    const facts = { ...ESIM.facts!, locations: ['JP', 'KR', '!RG'] }
    const page = install({}, { facts, packageName: '2 countries 10 GB 7 days' })
    expect(page).toContain('<h1><bdi>2 countries</bdi> <span><bdi>10 GB</bdi> · <bdi>7 days</bdi></span></h1>')
    expect(page).toContain('<p>Japan, South Korea</p>'.replace(', ', ' '))
    expect(page).not.toContain('/flags/')
  })
})

describe('the first button', () => {
  const links = (page: string) =>
    [...page.matchAll(/<a class="button( second| screen)" href="(https:[^"]+)"/g)].map(([, kind, url]) => [
      kind,
      new URL(url!).host,
    ])
  it.each([
    [
      'an iPhone',
      IPHONE,
      [
        [' screen', 'esimsetup.apple.com'],
        [' second', 'esimsetup.android.com'],
      ],
    ],
    [
      'an Android phone',
      ANDROID,
      [
        [' screen', 'esimsetup.android.com'],
        [' second', 'esimsetup.apple.com'],
      ],
    ],
    [
      'a desktop',
      DESKTOP,
      [
        [' second', 'esimsetup.apple.com'],
        [' second', 'esimsetup.android.com'],
      ],
    ],
    [
      'an iPhone that opens no such links',
      phoneOf({ 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_3_1 like Mac OS X)' }),
      [
        [' second', 'esimsetup.apple.com'],
        [' second', 'esimsetup.android.com'],
      ],
    ],
  ])('is that of %s, and the other system’s is behind “another phone”', (_, phone, expected) => {
    const page = install({}, {}, { phone })
    expect(links(page)).toEqual(expected)
    expect(page.includes('qr big')).toBe(phone.kind === 'desktop')
  })

  it('opens the steps of a Samsung phone on one, and those of a Pixel on others', () => {
    const open = (page: string) => /name="maker" open><summary>.*?<span>(.*?)<\/span>/.exec(page)?.[1]
    expect(open(install({}, {}, { phone: ANDROID }))).toBe('<bdi>Samsung Galaxy</bdi>')
    expect(open(install({}, {}, { phone: { ...ANDROID, isSamsung: false } }))).toBe('Pixel, and most other phones')
  })
})

describe('the page after the installation', () => {
  it('shows status, usage, report time and validity', () => {
    const page = status()
    expect(factsOf(page)).toEqual({ 'Valid until': '20 December 2026, 19:00 Japan Time' })
    for (const part of [
      '<span class="state on">In use</span>',
      'aria-label="7 GB left of 10 GB"',
      'stroke-dasharray="70 100"',
    ])
      expect(page).toContain(part)
    expect(page).toContain(
      '<bdi>3 GB</bdi> used of <bdi>10 GB</bdi>. Reported: <bdi>20 November 2026 at 22:28 Japan Time</bdi>',
    )
  })

  it('shows no code, QR code or installation link', () => {
    const page = status()
    for (const part of ['LPA:', 'token', 'esimsetup']) expect(page).not.toContain(part)
  })

  it('shows a different text for each status that has a page', () => {
    const shown = ESIM_STATUSES.filter((one) => one !== 'CANCEL' && one !== 'REVOKED')
    const texts = shown.map((esimStatus) => /class="state(?: on)?">(.*?)</.exec(status({ esimStatus }))?.[1])
    expect(new Set(texts).size).toBe(shown.length)
    expect(status({ suspended: true })).toContain('<span class="state">Suspended</span>')
  })

  it.each([
    [
      'nothing reported yet',
      { orderUsage: null, usageUpdateTime: null },
      '<b><bdi>10 GB</bdi></b>',
      'No usage has been reported yet.',
    ],
    [
      'more used than it has',
      { orderUsage: 11n * GIGABYTE },
      '<b><bdi>0 GB</bdi></b>',
      '<bdi>11 GB</bdi> used of <bdi>10 GB</bdi>',
    ],
    ['unlimited data', { totalVolume: null }, '<b><bdi>Unlimited</bdi></b>', '3 GB used of Unlimited'],
    [
      'less than a gigabyte',
      { totalVolume: GIGABYTE / 2n, orderUsage: GIGABYTE / 8n },
      '<b><bdi>375 MB</bdi></b>',
      'of <bdi>500 MB</bdi>',
    ],
  ])('shows only what is known about an eSIM with %s', (_, esim, ...parts) => {
    const page = status(esim)
    for (const part of parts) expect(page).toContain(part)
  })

  it('shows the installation deadline only while it matters, and the number and installation time if there are any', () => {
    const unused = factsOf(status({ esimStatus: 'GOT_RESOURCE', expiredTime: null }))
    expect(unused).toEqual({ 'Install before': '1 May 2027, 09:00 Japan Time' })
    const known = { msisdn: '+85200000000', installationTime: new Date('2026-11-20T09:05:00Z') }
    expect(factsOf(status(known))).toMatchObject({
      'Phone number': '+85200000000',
      Installed: '20 November 2026, 18:05 Japan Time',
    })
  })

  it('leads to the seller’s own shop for more data, if it has one', () => {
    const { brand } = reader()
    expect(status()).not.toContain('Get more data')
    expect(status({}, { brand: { ...brand, topUpUrl: 'https://shop.example/?a&b' } })).toContain(
      'href="https://shop.example/?a&amp;b"',
    )
  })
})

describe('the answer to “Does my phone take an eSIM?”', () => {
  const PHONE = 'Mozilla/5.0 (Linux; Android 15; SM-S931B Build/AP3A.240905.015.A2'
  it.each([
    ['an iPhone with iOS 17.4', { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X)' }, 'iPhone'],
    ['an older iPhone', { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 16_7 like Mac OS X)' }, undefined],
    [
      'Chrome, once it names the model',
      {
        'user-agent': 'Mozilla/5.0 (Linux; Android 10; K) Chrome/142.0.0.0 Mobile',
        'sec-ch-ua-model': '"Pixel 8 Pro"',
      },
      'Google Pixel 8 Pro',
    ],
    ['Chrome before that', { 'user-agent': 'Mozilla/5.0 (Linux; Android 10; K) Chrome/142.0.0.0 Mobile' }, undefined],
    ['a Samsung phone', { 'user-agent': `${PHONE}) SamsungBrowser/28.0 Mobile` }, 'Samsung Galaxy S25'],
    ['a mail program’s page', { 'user-agent': `${PHONE}; wv) Chrome/142.0.0.0 Mobile` }, 'Samsung Galaxy S25'],
    ['a phone that the list lacks', { 'user-agent': 'Mozilla/5.0 (Linux; Android 14; SM-A155F) Mobile' }, undefined],
    [
      'a model of markup',
      { 'user-agent': 'Mozilla/5.0 (Linux; Android 14; <b>x</b>)', 'sec-ch-ua-model': '"<b>x</b>"' },
      undefined,
    ],
    ['a desktop', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0' }, undefined],
  ])('names what %s says it is, and *#06# otherwise', (_, headers, name) => {
    const page = install({}, {}, { phone: phoneOf(headers) })
    expect(/<p class="good"><bdi>(.*?)<\/bdi>: it should take/.exec(page)?.[1]).toBe(name)
    expect(page).toContain('dial <bdi dir="ltr">*#06#</bdi>. A number called EID means yes.')
    expect(page).not.toContain('<b>x')
  })

  it('has the list of phones behind it, with the day of the list, and no code of a model', () => {
    expect(install()).toContain('<a href="?devices">Phones that take an eSIM</a>')
    const list = devicesPage(reader())
    expect(list).toContain('<th scope="row">Samsung Galaxy Z Fold7</th><td>since 2025, not in every country</td>')
    expect(list).toMatch(/As of <bdi>\d+ \w+ \d{4}<\/bdi>\. Models differ between countries/)
    expect(list).not.toContain('SM-')
  })
})
