import { PassThrough } from 'node:stream'
import { makeIccid, type Profile } from '@dealer-esim/contract'
import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyReports } from '#esims/apply-reports.ts'
import { getLanguages } from '#esims/languages/traveller-language.ts'
import { renewShareLink } from '#esims/qr/share-link.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, payOrders } from '../harness/shop.ts'

/* qrCodeUrl (contract §5), which a traveller opens without any other credentials. */

const PUBLIC_URL = 'https://esim.example.com/a/prefix'
const FORWARDED = { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': 'https' }
const FORMATS = ['', '.svg', '.png']
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/18.6 Mobile Safari/604.1'
const ANDROID = 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/142.0.0.0 Mobile Safari/537.36'
const DESKTOP = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36'
/** The confirmation code of the second eSIM. The first one has none. */
const CONFIRMATION_CODE = '47114711'

let database: TestDatabase
let node: Node
let dealer: Dealer
let token: string
let other: string
let logged = ''

beforeAll(async () => {
  database = await createTestDatabase()
  const lines = new PassThrough().setEncoding('utf8')
  lines.on('data', (text: string) => (logged += text))
  const env = { DEPLOYMENT: 'test', PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1' }
  node = await startNode(database.url, env, { log: createLog('info', lines) })
  dealer = await addDealer(node.deps)
  await addPackage(node.deps.db, 'P', [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }])
  const orderIds = await payOrders(node.deps.db, dealer.tenantId, 'P', { orders: 2 })
  for (const [at, orderId] of orderIds.entries()) {
    const confirmation = at === 0 ? {} : { confirmationCode: CONFIRMATION_CODE }
    const iccid = makeIccid('8985', at + 1)
    const esim = { iccid, smdpAddress: 'smdp.example.com', matchingId: `M-${orderId}`, ...confirmation }
    await acceptEsim(node.deps, dealer.tenantId, { orderId, itemNo: 1, supplier: 'sandbox' }, esim)
  }
  ;[token, other] = (await links()).map((link) => link.slice(`${PUBLIC_URL}/qr/`.length)) as [string, string]
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

async function profiles(headers: Record<string, string> = {}): Promise<Profile[]> {
  const { data } = await call(node, dealer, 'esim/profile/list', { headers: { ...FORWARDED, ...headers } })
  return data.profileList
}

async function links(headers: Record<string, string> = {}): Promise<string[]> {
  return (await profiles(headers)).map((profile) => profile.qrCodeUrl)
}

/** Sends a GET request, by default as a browser loading a page would. */
async function get(path: string, headers: Record<string, string> = { 'Sec-Fetch-Dest': 'document' }) {
  const answer = await fetch(`${node.baseUrl}${path}`, { headers: { ...FORWARDED, ...headers } })
  return { status: answer.status, text: await answer.text(), headers: Object.fromEntries(answer.headers) }
}

/** Sets the status of both eSIMs. */
async function setStatus(esimStatus: string, smdpStatus: string | null): Promise<void> {
  await node.deps.db.query({
    text: 'update profiles set esim_status = $2, smdp_status = $3 where tenant_id = $1',
    values: [dealer.tenantId, esimStatus, smdpStatus],
  })
}

describe('qrCodeUrl', () => {
  it('the URL is built from PUBLIC_URL and its path, never from the Host header', async () => {
    const forged = { Host: 'evil.test', 'X-Forwarded-Host': 'evil.test', Forwarded: 'host=evil.test' }
    for (const headers of [{}, forged])
      expect((await links(headers)).toSorted()).toEqual(
        [token, other].map((each) => `${PUBLIC_URL}/qr/${each}`).toSorted(),
      )
  })

  it('the page and the pictures are never stored, indexed or sent as a referrer', async () => {
    await setStatus('GOT_RESOURCE', 'RELEASED')
    const types = ['text/html; charset=utf-8', 'image/svg+xml', 'image/png']
    for (const [at, format] of FORMATS.entries()) {
      const { status, headers } = await get(`/qr/${token}${format}`)
      expect([status, headers['content-type']]).toEqual([200, types[at]])
      expect(headers).toMatchObject(PRIVATE)
    }
  })

  it('the page offers the codes, and this device’s installation link as its only first button', async () => {
    await setStatus('GOT_RESOURCE', 'RELEASED')
    for (const profile of await profiles()) {
      const path = profile.qrCodeUrl.slice(PUBLIC_URL.length)
      for (const [agent, first] of [
        [IPHONE, profile.appleInstallUrl],
        [ANDROID, profile.androidInstallUrl],
        [DESKTOP, undefined],
      ] as const) {
        const { text, headers } = await get(path, { 'Sec-Fetch-Dest': 'document', 'User-Agent': agent })
        expect(/<a class="button screen" href="([^"]+)"/.exec(text)?.[1]).toBe(first)
        for (const link of [profile.appleInstallUrl, profile.androidInstallUrl])
          expect(text).toContain(`href="${link}"`)
        for (const code of [profile.smdpAddress, profile.matchingId, profile.ac])
          expect(text).toContain(`>${code}</code>`)
        expect(text).not.toMatch(/\son\w+=|\sstyle=/)
        const policy = /^default-src 'none'; img-src 'self'; style-src( 'sha256-[^']+')+; script-src 'sha256-[^']+';/
        expect(headers['content-security-policy']).toMatch(policy)
        expect(headers['accept-ch']).toBe('Sec-CH-UA-Model')
      }
    }
  })

  it('the page shows the confirmation code of an eSIM that has one', async () => {
    await setStatus('GOT_RESOURCE', 'RELEASED')
    for (const { confirmationCode, qrCodeUrl } of await profiles()) {
      const { text } = await get(`/qr/${qrCodeUrl.slice(`${PUBLIC_URL}/qr/`.length)}`)
      expect(text.includes(`>${CONFIRMATION_CODE}</code>`)).toBe(confirmationCode !== null)
    }
    expect(logged).not.toContain(CONFIRMATION_CODE)
  })

  it.each([
    ['GOT_RESOURCE', null, 200],
    ['GOT_RESOURCE', 'RELEASED', 200],
    ['IN_USE', 'DOWNLOAD', 200],
    ['GOT_RESOURCE', 'INSTALLATION', 410],
    ['IN_USE', 'ENABLED', 410],
    ['IN_USE', 'DISABLED', 410],
    ['IN_USE', 'DELETED', 410],
    ['IN_USE', null, 410],
    ['CANCEL', 'RELEASED', 410],
    ['REVOKED', 'RELEASED', 410],
    ['UNUSED_EXPIRED', 'RELEASED', 410],
  ])(
    'the URL of an eSIM with the statuses %s and %s is answered with %i in every format',
    async (esimStatus, smdpStatus, status) => {
      await setStatus(esimStatus, smdpStatus)
      for (const format of FORMATS)
        expect([format, (await get(`/qr/${token}${format}`)).status]).toEqual([format, status])
    },
  )

  it('a modified URL is answered with one page under the operator’s name', async () => {
    await setStatus('GOT_RESOURCE', null)
    const changes = [
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      token.slice(0, -1),
      `${token.slice(0, 43)}${other.slice(43)}`,
      'any',
      ...['A', '.gif', '.svg.svg', '/', '/x.svg', '%', '%E3%81', token, `${PUBLIC_URL}/qr/`].map((end) => token + end),
    ]
    expect(await get('/qr/unknown.svg')).toMatchObject({ status: 404, text: '' })
    expect(await get(`/qr/${token}/`, {})).toMatchObject({ status: 404, text: '' })
    const { text: expected } = await get('/qr/unknown')
    expect(expected).toContain('This link does not lead to an eSIM')
    for (const changed of changes) {
      const { status, text, headers } = await get(`/qr/${changed}`)
      expect([changed, status, text]).toEqual([changed, 404, expected])
      expect(headers).toMatchObject(PRIVATE)
    }
  })
})

const PRIVATE = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
}

describe('a QR link’s format', () => {
  const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  it.each([
    ['image/png', {}],
    ['image/png', { 'Sec-Fetch-Dest': 'image', Accept: 'image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8' }],
    ['image/svg+xml', { Accept: 'image/svg+xml' }],
    ['image/png', { Accept: 'image/svg+xml, image/png' }],
    ['image/png', { 'Sec-Fetch-Dest': 'empty', Accept: HTML }],
    ['text/html; charset=utf-8', { 'Sec-Fetch-Dest': 'document', Accept: HTML }],
  ])('is %s for a request with the headers %j', async (type, headers) => {
    await setStatus('GOT_RESOURCE', 'RELEASED')
    const answer = await get(`/qr/${token}`, headers)
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': type, ...PRIVATE } })
    expect(answer.headers.vary).toMatch(/^Accept, Sec-Fetch-Dest, User-Agent(, Accept-Encoding)?$/)
  })

  it('a file extension takes precedence over the headers', async () => {
    await setStatus('GOT_RESOURCE', 'RELEASED')
    const picture = async (name: string) => (await get(`/qr/${name}`)).headers['content-type']
    expect([await picture(`${token}.svg`), await picture(`${token}.png`)]).toEqual(['image/svg+xml', 'image/png'])
  })
})

describe('information from the seller and the supplier', () => {
  it('appears on the pages of both links, with a description, fair use and the installation time', async () => {
    const { db } = node.deps
    await db.query({
      text: `update packages set description = 'Includes 20 SMS.', fup_policy = '1 Mbps after 2 GB a day'`,
    })
    const [orderId] = await payOrders(db, dealer.tenantId, 'P')
    const kycUrl = 'https://kyc.example.com/8985?a=1'
    const esim = { iccid: makeIccid('8985', 99), smdpAddress: 'smdp.example.com', matchingId: 'M-KYC', kycUrl }
    await acceptEsim(node.deps, dealer.tenantId, { orderId: orderId!, itemNo: 1, supplier: 'sandbox' }, esim)
    const found = (await profiles()).find(({ iccid }) => iccid === esim.iccid)!
    const path = (url: string) => url.slice(PUBLIC_URL.length)
    for (const url of [found.qrCodeUrl, found.shareUrl!]) {
      const { text } = await get(path(url))
      for (const part of ['Includes 20 SMS.', '1 Mbps after 2 GB a day', `href="${kycUrl}"`])
        expect(text).toContain(part)
    }
    const report = {
      time: new Date(),
      smdpStatus: 'ENABLED',
      installationTime: new Date('2026-11-20T09:05:00Z'),
    } as const
    await applyReports(node.deps, dealer.tenantId, [{ orderId: orderId!, profileId: found.esimTranNo, report }])
    const { text } = await get(path(found.shareUrl!))
    expect(text).toContain('20 November 2026<small>18:05 Japan Time')
    expect(text).toContain('1 Mbps after 2 GB a day')
    expect(text).not.toContain('kyc.example.com')
    await db.query({ text: 'update packages set description = null, fup_policy = null' })
    await db.query({
      text: `update profiles set esim_status = 'REVOKED' where profile_id = $1`,
      values: [found.esimTranNo],
    })
  })
})

describe('shareUrl', () => {
  const SHARE = `${PUBLIC_URL}/share/`
  /** The share links, in the same order as the QR links in `token` and `other`. */
  async function shareTokens(): Promise<(string | null)[]> {
    const list = await profiles()
    return [token, other].map((qr) => {
      const { shareUrl } = list.find((profile) => profile.qrCodeUrl.endsWith(qr))!
      return shareUrl?.slice(SHARE.length) ?? null
    })
  }
  async function setTimes(expiredTime: string | null, installBefore: string | null = null): Promise<void> {
    await node.deps.db.query({
      text: `update profiles set total_volume = 2147483648, order_usage = 536870912, usage_update_time = now(),
               expired_time = now() + $2::interval, install_before = now() + $3::interval where tenant_id = $1`,
      values: [dealer.tenantId, expiredTime, installBefore],
    })
  }

  it('the page shows codes only while the QR link does', async () => {
    await setTimes(null)
    await setStatus('GOT_RESOURCE', 'RELEASED')
    const [{ ac, qrCodeUrl, shareUrl }] = (await profiles()) as [Profile]
    const share = shareUrl!.slice(SHARE.length)
    const before = await get(`/share/${share}`)
    expect(before.headers).toMatchObject({ ...PRIVATE, 'content-type': 'text/html; charset=utf-8' })
    expect(before.text).toContain(ac)
    expect(before.text).toContain(`src="${share}.svg"`)
    expect(before.text).not.toContain(qrCodeUrl.slice(`${PUBLIC_URL}/qr/`.length))
    expect((await get(`/share/${share}.png`)).headers['content-type']).toBe('image/png')
    await setStatus('IN_USE', 'ENABLED')
    const after = await get(`/share/${share}`)
    expect(after).toMatchObject({ status: 200, headers: PRIVATE })
    expect(after.text).not.toContain('LPA:1')
    expect(after.text).toContain('<bdi>512 MB</bdi> used of <bdi>2 GB</bdi>')
    expect(after.text).toContain('stroke-dasharray="75 100"')
    for (const format of ['.svg', '.png'])
      expect(await get(`/share/${share}${format}`)).toMatchObject({ status: 410, text: '' })
  })

  it.each([
    ['GOT_RESOURCE', null, '10 days', 200],
    ['IN_USE', '10 days', null, 200],
    ['USED_UP', '10 days', null, 200],
    ['USED_EXPIRED', '-89 days', null, 200],
    ['USED_EXPIRED', '-91 days', null, 410],
    ['UNUSED_EXPIRED', null, '-89 days', 200],
    ['UNUSED_EXPIRED', null, '-91 days', 410],
    ['CANCEL', null, '10 days', 410],
    ['REVOKED', '10 days', null, 410],
  ])(
    'an eSIM with status %s, expiry in %s and installation deadline in %s is answered with %i',
    async (status, expires, before, http) => {
      await setTimes(null)
      await setStatus('GOT_RESOURCE', null)
      const [share] = await shareTokens()
      await setTimes(expires, before)
      await setStatus(status, null)
      expect((await get(`/share/${share}`)).status).toBe(http)
      expect(await shareTokens()).toEqual(http === 200 ? [share, expect.any(String)] : [null, null])
    },
  )

  it('neither link accepts the other’s token, and a modified token is answered like any unknown one', async () => {
    await setTimes(null)
    await setStatus('GOT_RESOURCE', null)
    const [share] = (await shareTokens()) as [string]
    const unknown = await get('/share/unknown')
    for (const changed of [
      token,
      share.slice(0, -1),
      `${share}A`,
      `${share}.gif`,
      `${token.slice(0, 54)}${share.slice(54)}`,
      ...['/', share].map((end) => share + end),
    ])
      expect(await get(`/share/${changed}`)).toMatchObject({ status: 404, text: unknown.text, headers: PRIVATE })
    expect((await get(`/qr/${share}`)).status).toBe(404)
  })

  it('an ended link is a page of its seller without codes, ICCID or contact of anybody else', async () => {
    await setTimes(null)
    await setStatus('GOT_RESOURCE', null)
    const [share] = (await shareTokens()) as [string]
    const [{ iccid, ac }] = (await profiles()).filter(({ qrCodeUrl }) => qrCodeUrl.endsWith(token)) as [Profile]
    await setStatus('REVOKED', null)
    for (const [path, heading] of [
      [`/share/${share}`, 'This eSIM has ended'],
      [`/qr/${token}`, 'This code has done its work'],
    ] as const) {
      const { status, text, headers } = await get(path)
      expect([status, headers['content-type']]).toEqual([410, 'text/html; charset=utf-8'])
      expect(text).toContain(`<h1>${heading}</h1>`)
      expect(text).toContain(`<p class="brand"><bdi>Test dealer</bdi></p>`)
      for (const secret of [iccid, ac, token, share]) expect(text).not.toContain(secret)
    }
  })

  it('renewal ends the old link, but keeps the QR link and other eSIMs’ links', async () => {
    await setStatus('GOT_RESOURCE', null)
    const [share, untouched] = await shareTokens()
    const profileId = (await profiles()).find((profile) => profile.qrCodeUrl.endsWith(token))!.esimTranNo
    await renewShareLink(node.deps, { tenantId: dealer.tenantId, profileId }, { actor: 'cli:test' })
    const [renewed, same] = await shareTokens()
    expect(same).toBe(untouched)
    expect(renewed).not.toBe(share)
    const replaced = await get(`/share/${share}`)
    expect([replaced.status, (await get(`/share/${renewed}`)).status]).toEqual([410, 200])
    expect(replaced.text).toContain('<h1>There is a newer link</h1>')
    expect(replaced.text).not.toContain(renewed)
    expect((await get(`/qr/${token}`)).status).toBe(200)
    const entries = await node.deps.db.query({
      text: `select subject from audit_log where action = 'profile.renew_share_link'`,
      values: [],
    })
    expect(entries).toEqual([{ subject: profileId }])
  })
})

describe('failures', () => {
  const rejected = new pg.DatabaseError('password authentication failed for user "gateway"', 100, 'error')
  rejected.code = '28P01'
  it.each([
    ['a database that refuses the password', rejected, 503, '5'],
    [
      'a database that cannot be reached',
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { errno: -111 }),
      503,
      '5',
    ],
    ['a defect', new Error('relation "profiles" has no column "ac"'), 500, undefined],
  ])('%s is shown without its message, and logged once without the token', async (_, error, status, retryAfter) => {
    const { db } = node.deps
    const { query } = db
    logged = ''
    const answers = []
    try {
      Object.assign(db, { query: () => Promise.reject(error) })
      answers.push(await get(`/qr/${token}`, { 'Sec-Fetch-Dest': 'document', 'Accept-Language': 'ar, de' }))
      answers.push(await get(`/%71r/${token}.svg`, { 'Sec-Fetch-Dest': 'image' }))
    } finally {
      Object.assign(db, { query })
    }
    for (const { headers, text, ...answer } of answers) {
      expect([answer.status, headers['retry-after']]).toEqual([status, retryAfter])
      expect(headers).toMatchObject(PRIVATE)
      expect(text).not.toContain(error.message)
    }
    const [page, line] = answers
    expect(page!.text).toContain(`<h1>${getLanguages().get('ar')!.texts.unavailableTitle}</h1>`)
    expect(page!.headers['content-security-policy']).toMatch(/^default-src 'none';/)
    expect(line!.text).toMatch(/^[A-Z].* again .*\.\n$/)
    const err = expect.objectContaining({ message: error.message })
    const isRefused = status === 503 // reported once per second, with the first error
    const message = isRefused ? 'requests were refused' : 'a page failed'
    const lines = () => logged.split('\n').filter((line) => line.includes(message))
    await expect.poll(() => lines().length).toBeGreaterThan(0)
    expect(lines().map((line) => JSON.parse(line))).toEqual(
      isRefused
        ? [expect.objectContaining({ refused: 2, err })]
        : Array(2).fill(expect.objectContaining({ path: '/qr/:name', err })),
    )
    expect(logged).not.toContain(token)
  })
})
