import { ESIM_STATUSES } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import type { QrContent, SharedEsim } from '#esims/qr/qr-content.ts'
import { qrPage, sharePage } from './traveller-page.ts'

const GIGABYTE = 1_073_741_824n
const ESIM: SharedEsim = {
  iccid: '8985200000000000017',
  packageName: 'Japan & South Korea <10 GB>',
  esimStatus: 'IN_USE',
  suspended: false,
  totalVolume: 10n * GIGABYTE,
  orderUsage: 3n * GIGABYTE,
  usageUpdateTime: new Date('2026-11-20T13:28:09Z'),
  installBefore: new Date('2027-05-01T00:00:00Z'),
  installationTime: null,
  expiredTime: new Date('2026-12-20T10:00:00Z'),
  apn: null,
  msisdn: null,
  terms: { description: null, fupPolicy: null },
  codes: undefined,
}

/** The facts of the page by name. */
function factsOf(page: string): Record<string, string> {
  return Object.fromEntries(
    [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value]),
  )
}

const CODES: QrContent = {
  ...{ ac: 'LPA:1$a.example.com$M', smdpAddress: 'a.example.com', matchingId: 'M' },
  ...{ isConfirmationCodeRequired: false, confirmationCode: null },
  ...{ iccid: ESIM.iccid, packageName: ESIM.packageName, apn: null, kycUrl: null, msisdn: null, terms: ESIM.terms },
}

it('the page shows the package contents and fair use policy before and after installation', () => {
  const terms = { description: 'Includes 100 minutes of calls.', fupPolicy: '1 Mbps after <2> GB a day' }
  const shown = { Description: 'Includes 100 minutes of calls.', 'Fair use': '1 Mbps after &lt;2&gt; GB a day' }
  expect(factsOf(qrPage('token', { ...CODES, terms }))).toMatchObject(shown)
  expect(factsOf(sharePage('token', { ...ESIM, codes: CODES, terms }))).toMatchObject(shown)
  expect(factsOf(sharePage('token', { ...ESIM, terms }))).toMatchObject(shown)
  expect(sharePage('token', ESIM)).not.toContain('Your package')
})

it('the page links to the traveller’s identity check until the eSIM is installed', () => {
  const codes = { ...CODES, kycUrl: 'https://kyc.example.com/a?b=1&c=2' }
  const link = 'href="https://kyc.example.com/a?b=1&amp;c=2"'
  expect(qrPage('token', codes)).toContain(link)
  expect(sharePage('token', { ...ESIM, codes })).toContain(link)
  expect(sharePage('token', ESIM)).not.toContain('identity')
})

it('the page shows the confirmation code beside the other codes until the eSIM is installed', () => {
  const codes = { ...CODES, isConfirmationCodeRequired: true, confirmationCode: '47<11>' }
  const shown = '<code translate="no">47&lt;11&gt;</code>'
  for (const page of [qrPage('token', codes), sharePage('token', { ...ESIM, codes })]) {
    expect(page).toContain(shown)
    expect(page).not.toContain('Ask your seller')
  }
  expect(qrPage('token', { ...codes, confirmationCode: null })).toContain('Ask your seller for it')
  for (const page of [qrPage('token', CODES), sharePage('token', ESIM)]) expect(page).not.toMatch(/confirmation code/i)
})

it('the page says when the eSIM was installed, if the supplier reports it', () => {
  const installationTime = new Date('2026-11-20T09:05:00Z')
  expect(factsOf(sharePage('token', { ...ESIM, installationTime })).Installed).toBe('20 November 2026 at 09:05 UTC')
})

it('the page shows a known access point once, before and after installation', () => {
  const before = (apn: string | null) => sharePage('token', { ...ESIM, apn, codes: { ...CODES, apn } })
  const after = (apn: string | null) => sharePage('token', { ...ESIM, apn })
  for (const page of [before, after]) {
    expect(page('plus<1>').match(/<code translate="no">plus&lt;1&gt;<\/code>/g)).toHaveLength(1)
    expect(page(null)).not.toContain('APN')
  }
})

it('the page shows the eSIM’s telephone number, if there is one', () => {
  const msisdn = '+85200000000'
  expect(factsOf(qrPage('token', { ...CODES, msisdn }))['Phone number']).toBe(msisdn)
  expect(factsOf(sharePage('token', { ...ESIM, msisdn, codes: { ...CODES, msisdn } }))['Phone number']).toBe(msisdn)
  expect(factsOf(sharePage('token', { ...ESIM, msisdn }))['Phone number']).toBe(msisdn)
  expect(sharePage('token', ESIM)).not.toContain('Phone number')
})

it('the page offers one-tap installation on the phone that displays it', () => {
  const links = [...qrPage('token', CODES).matchAll(/<a class="button" href="(https:[^"]+)"/g)].map(([, url]) => url)
  const code = 'carddata=LPA%3A1%24a.example.com%24M'
  expect(links).toEqual([
    `https://esimsetup.apple.com/esim_qrcode_provisioning?${code}`,
    `https://esimsetup.android.com/esim_qrcode_provisioning?${code}`,
  ])
})

describe('a share link’s page after the installation', () => {
  it('shows the status, usage, report time and validity', () => {
    const page = sharePage('token', ESIM)
    expect(factsOf(page)).toEqual({
      Status: 'In use',
      Data: '3 GB used of 10 GB',
      'Usage reported': '20 November 2026 at 13:28 UTC',
      'Valid until': '20 December 2026 at 10:00 UTC',
    })
    expect(page).toContain('<progress max="100" value="30"')
    expect(page).toContain('<h1>Japan &amp; South Korea &lt;10 GB&gt;</h1>')
  })

  it('declares English as its language, because its texts are in English', () => {
    expect(sharePage('token', ESIM)).toContain('<html lang="en">')
  })

  it('shows no code, picture or installation link', () => {
    const page = sharePage('token', ESIM)
    for (const part of ['LPA:', '<img', 'href="http', 'token.']) expect(page).not.toContain(part)
  })

  it('shows a different text for each status', () => {
    const texts = ESIM_STATUSES.map((esimStatus) => factsOf(sharePage('token', { ...ESIM, esimStatus })).Status)
    expect(new Set(texts).size).toBe(ESIM_STATUSES.length)
    expect(texts).not.toContain(undefined)
  })

  it('says that the eSIM is suspended', () => {
    expect(factsOf(sharePage('token', { ...ESIM, suspended: true })).Status).toBe('In use, suspended')
  })

  it.each([
    ['nothing reported yet', { orderUsage: null, usageUpdateTime: null }, '10 GB', undefined],
    ['more used than it has', { orderUsage: 11n * GIGABYTE }, '11 GB used of 10 GB', '100'],
    ['unlimited data', { totalVolume: null }, '3 GB used of unlimited', undefined],
    ['less than a gigabyte', { totalVolume: GIGABYTE / 2n, orderUsage: GIGABYTE / 8n }, '128 MB used of 512 MB', '25'],
  ])('shows only what is known about an eSIM with %s', (_, parts, data, percent) => {
    const page = sharePage('token', { ...ESIM, ...parts })
    expect(factsOf(page).Data).toBe(data)
    expect(/<progress max="100" value="(\d+)"/.exec(page)?.[1]).toBe(percent)
  })

  it('shows the installation deadline only while it matters', () => {
    const unused = factsOf(sharePage('token', { ...ESIM, esimStatus: 'GOT_RESOURCE', expiredTime: null }))
    expect(unused).toMatchObject({ 'Install before': '1 May 2027 at 00:00 UTC' })
    expect(unused).not.toHaveProperty('Valid until')
    expect(factsOf(sharePage('token', ESIM))).not.toHaveProperty('Install before')
  })
})
