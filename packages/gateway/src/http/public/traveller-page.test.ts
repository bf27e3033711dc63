import { ESIM_STATUSES } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import type { SharedEsim } from '#esims/qr/qr-content.ts'
import { sharePage } from './traveller-page.ts'

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
  expiredTime: new Date('2026-12-20T10:00:00Z'),
  codes: undefined,
}

/** The facts of the page by name. */
function factsOf(page: string): Record<string, string> {
  return Object.fromEntries(
    [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value]),
  )
}

it('names the access point before the installation, if one is known', () => {
  const codes = { ac: 'LPA:1$a.example.com$M', smdpAddress: 'a.example.com', matchingId: 'M' }
  const { iccid, packageName } = ESIM
  const page = (apn: string | null) =>
    sharePage('token', { ...ESIM, codes: { ...codes, isConfirmationCodeRequired: false, iccid, packageName, apn } })
  expect(page('plus<1>')).toContain('<code translate="no">plus&lt;1&gt;</code>')
  expect(page(null)).not.toContain('APN')
})

describe('the page of a share link after the installation', () => {
  it('shows status, usage, the time of the report and the validity', () => {
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

  it('names its language, because its texts are English', () => {
    expect(sharePage('token', ESIM)).toContain('<html lang="en">')
  })

  it('has no code, picture or link to install', () => {
    const page = sharePage('token', ESIM)
    for (const part of ['LPA:', '<img', 'href="http', 'token.']) expect(page).not.toContain(part)
  })

  it('shows each status in words of its own', () => {
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
  ])('with %s shows only what is known', (_, parts, data, percent) => {
    const page = sharePage('token', { ...ESIM, ...parts })
    expect(factsOf(page).Data).toBe(data)
    expect(/<progress max="100" value="(\d+)"/.exec(page)?.[1]).toBe(percent)
  })

  it('shows the last day of installation only while that matters', () => {
    const unused = factsOf(sharePage('token', { ...ESIM, esimStatus: 'GOT_RESOURCE', expiredTime: null }))
    expect(unused).toMatchObject({ 'Install before': '1 May 2027 at 00:00 UTC' })
    expect(unused).not.toHaveProperty('Valid until')
    expect(factsOf(sharePage('token', ESIM))).not.toHaveProperty('Install before')
  })
})
