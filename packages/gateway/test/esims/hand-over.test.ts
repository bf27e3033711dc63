import { randomUUID } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { createMailServer, type MailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import jsQR from 'jsqr'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { sendDueMails } from '#alerts/mail/send-mail.ts'
import type { BrandInput } from '#brands/brand-members.ts'
import { deleteBrand, putBrand } from '#brands/put-brand.ts'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { pollSuppliersLoop } from '#esims/poll-suppliers.ts'
import { queueDeliveries } from '#esims/sends/delivery-loop.ts'
import { findHandOver } from '#esims/sends/hand-over.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type SmtpReceiver, startSmtpReceiver } from '#test/harness/servers/smtp-receiver.ts'
import { waitUntil } from '#test/harness/shop.ts'

/* From an order line to the traveller's phone: a gateway with the sandbox and a mail server. Each test decides when mails leave. */

const EMAIL = 'hana.sato@traveller.test'
/** In use two seconds after its delivery. */
const PACKAGE = 'SANDBOX_USAGE'
/** iOS 18, whose page has the button of an iPhone. */
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1'

let database: TestDatabase
let node: Node
let loop: Running
let smtp: SmtpReceiver
let mailServer: MailServer
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  smtp = await startSmtpReceiver()
  mailServer = createMailServer(smtp.url)
  node = await startNode(database.url, { SMTP_URL: smtp.url, MAIL_FROM: 'esim@gateway.test' })
  const sold = {
    ...{ packageCode: PACKAGE, name: 'Japan 1 GB 7 days', status: 'ON_SALE' },
    prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: null }],
    suppliers: [{ supplier: 'sandbox', productCode: PACKAGE }],
  }
  await putPackages(node.deps, [packageInput(sold)], OPERATOR)
  loop = fulfilmentLoop(node.deps)
})
afterAll(async () => {
  await loop.stop(5_000)
  mailServer.close()
  await node.stop()
  await smtp.close()
  await database.drop()
})
beforeEach(async () => {
  await deliverMails() // of the test before
  smtp.mails.length = 0
  dealer = await addDealer(node.deps)
})

const json = (operation: string, body: object) => call(node, dealer, operation, { body: JSON.stringify(body) })
const setBrand = (brand: string, input: BrandInput, { tenantId }: Dealer = dealer) =>
  putBrand(node.deps, { tenantId, brand }, { input, pictures: {} }, OPERATOR)
const send = (body: object) => json('esim/profile/send', { transactionId: randomUUID(), email: EMAIL, ...body })

/** Orders one eSIM whose line has these members too. */
async function order(line: object) {
  const transactionId = randomUUID()
  const packageInfoList = [{ packageCode: PACKAGE, count: 1, ...line }]
  return { transactionId, ...(await json('esim/order', { transactionId, packageInfoList })) }
}

/** @returns the eSIM of an order as the dealer API shows it, once it is there */
async function esimOf(transactionId: string) {
  const { profileList } = await waitUntil(async () => {
    const { data } = await json('esim/query', { transactionId })
    return data.orderStatus === 'DELIVERED' && data
  })
  return profileList[0]
}

async function buy(line: object) {
  const { transactionId, code } = await order(line)
  expect([line, code]).toEqual([line, '000000'])
  return { transactionId, ...(await esimOf(transactionId)) }
}

async function sendStatusOf(transactionId: string): Promise<string> {
  return (await json('esim/query', { transactionId })).data.sendList[0].sendStatus
}

/** Sends every mail that is due. */
async function deliverMails(): Promise<void> {
  await queueDeliveries(node.deps)
  await sendDueMails({ ...node.deps, mailServer, consoleUrl: () => 'http://console.test' })
}

/** Opens a link as a phone's browser does. */
async function open(url: string, headers: Record<string, string> = {}) {
  const opened = { 'Sec-Fetch-Dest': 'document', 'User-Agent': IPHONE, ...headers }
  const { pathname, search } = new URL(url)
  const answer = await fetch(new URL(pathname + search, node.baseUrl), { headers: opened })
  const text = await answer.text()
  const [, language, seller] = /<html lang="([^"]+)".*<p class="brand"><bdi>([^<]*)</s.exec(text) ?? []
  return { status: answer.status, text, language, seller, cookie: answer.headers.get('set-cookie') }
}

const languageOfMail = () => /<html lang="([^"]+)"/.exec(smtp.mails.at(-1)!.html)?.[1]

it('an order line in Japanese becomes a branded mail, a page and an installed eSIM, and says at each step how far it is', async () => {
  const lotus = { name: 'Lotus Travel', accent: '#b8336a', supportEmail: 'help@lotus.test', senderName: 'Lotus' }
  await setBrand('lotus', lotus)
  await setBrand('outlet', { name: 'Lotus Outlet' })
  const deliverTo = { email: EMAIL, name: 'Hana Sato', language: 'ja', brand: 'lotus' }
  const esim = await buy({ deliverTo })
  expect([await sendStatusOf(esim.transactionId), smtp.mails]).toEqual(['QUEUED', []])

  await deliverMails()
  expect(await sendStatusOf(esim.transactionId)).toBe('SENT')
  const [mail] = smtp.mails
  expect(mail).toMatchObject({ to: EMAIL, sender: 'Lotus <esim@gateway.test>', replyTo: 'help@lotus.test' })
  expect(mail!.subject).toBe('eSIM のご案内：日本 · 1 GB · 7 日')
  for (const form of [mail!.text, mail!.html]) {
    for (const part of ['Hana Sato', '日本', 'インストール', 'help@lotus.test', esim.shareUrl])
      expect(form).toContain(part)
    expect(form).not.toMatch(/LPA:|Outlet|Your eSIM/)
  }
  expect(mail!.html).toContain('<html lang="ja" dir="ltr">')
  expect(mail!.html).toContain('background:#b8336a')
  expect(decodePng(mail!.pictures.qr!)).toBe(esim.ac)

  const card = await open(`${esim.shareUrl}?card`, { 'Accept-Language': 'de' })
  expect(card).toMatchObject({ status: 200, language: 'ja', seller: 'Lotus Travel' })
  expect(card.text).toContain('このカードを持つ人は誰でも')
  expect(await sendStatusOf(esim.transactionId)).toBe('SENT')

  const page = await open(esim.shareUrl, { 'Accept-Language': 'de' })
  expect(page).toMatchObject({ status: 200, language: 'ja', seller: 'Lotus Travel' })
  for (const part of [esim.appleInstallUrl, 'この iPhone にインストール', 'help@lotus.test', '--accent:#b8336a'])
    expect(page.text).toContain(part)
  expect(await sendStatusOf(esim.transactionId)).toBe('OPENED')

  await becomeInstalled(esim.esimTranNo)
  const used = await open(esim.shareUrl, { 'Accept-Language': 'de' })
  expect(used).toMatchObject({ status: 200, language: 'ja', seller: 'Lotus Travel' })
  expect(used.text).toContain('<span class="state on">利用中</span>')
  expect(used.text).not.toContain('LPA:')
  expect(await open(esim.qrCodeUrl)).toMatchObject({ status: 410, language: 'ja', seller: 'Lotus Travel' })
  expect(await sendStatusOf(esim.transactionId)).toBe('OPENED')
  expect((await esimOf(esim.transactionId)).smdpStatus).toBe('ENABLED')
})

it('a malformed language is refused wherever it stands, and so is a brand that is malformed, another dealer’s or deleted', async () => {
  await setBrand('harbour', { name: 'Harbour of another' }, await addDealer(node.deps))
  await setBrand('lotus', { name: 'Lotus Travel' })
  await setBrand('past', { name: 'Lotus Past' })
  await deleteBrand(node.deps, { tenantId: dealer.tenantId, brand: 'past' }, OPERATOR)
  const { esimTranNo } = await buy({})
  const { balance } = (await json('account/balance', {})).data
  const refusalsOf = async (member: object) => {
    const answers = [
      await order(member),
      await order({ deliverTo: { email: EMAIL, ...member } }),
      await send({ esimTranNo, ...member }),
    ]
    return answers.map(({ code }) => code)
  }
  const isOfWrongLength = (text: string, max: number) => text === '' || text.length > max
  for (const language of [
    '',
    'x'.repeat(65),
    ' ',
    'ja_JP',
    'ja-',
    '-ja',
    '日本語',
    'ja JP',
    'ja-JP-JP',
    'a',
    '1',
    '<b>',
  ]) {
    const code = isOfWrongLength(language, 64) ? '000107' : '000108'
    expect([language, ...(await refusalsOf({ language }))]).toEqual([language, code, code, code])
  }
  for (const brand of ['', 'l'.repeat(33), 'UPPER', 'a b', 'café', '../lotus', 'harbour', 'past']) {
    const code = isOfWrongLength(brand, 32) ? '000107' : /^[a-z]+$/.test(brand) ? '200018' : '000108'
    expect([brand, ...(await refusalsOf({ brand }))]).toEqual([brand, code, code, code])
  }
  expect((await json('account/balance', {})).data.balance).toBe(balance)
  await deliverMails()
  expect(smtp.mails).toEqual([])
})

it('a well-formed language that we lack falls back to a related one, the browser’s, the brand’s, then English', async () => {
  await setBrand('lotus', { name: 'Lotus Travel', language: 'ko' })
  await setBrand('outlet', { name: 'Lotus Outlet' })
  const cases: [language: string, brand: string, mail: string, page: string, pageOfGerman: string][] = [
    ['ja-JP-u-ca-japanese', 'lotus', 'ja', 'ja', 'ja'],
    ['zh-yue-HK', 'lotus', 'zh-Hant', 'zh-Hant', 'zh-Hant'],
    ['tlh', 'lotus', 'ko', 'ko', 'de'],
    ['x-dealer', 'lotus', 'ko', 'ko', 'de'],
    ['i-klingon', 'outlet', 'en', 'en', 'de'],
  ]
  for (const [language, brand, mail, page, pageOfGerman] of cases) {
    const { shareUrl } = await buy({ deliverTo: { email: `${language}@traveller.test`, language, brand } })
    await deliverMails()
    const pages = [(await open(shareUrl)).language, (await open(shareUrl, { 'Accept-Language': 'de-CH' })).language]
    expect([language, brand, languageOfMail(), ...pages]).toEqual([language, brand, mail, page, pageOfGerman])
  }
})

it('what a reader chooses on the page counts before all else and is remembered, unless it is a language that we lack', async () => {
  const { shareUrl } = await buy({ deliverTo: { email: EMAIL, language: 'ja' } })
  const chosen = await open(`${shareUrl}?lang=fr-CA`, { 'Accept-Language': 'de' })
  expect(chosen).toMatchObject({ language: 'fr', cookie: 'lang=fr; Max-Age=31536000; HttpOnly; SameSite=Lax' })
  expect(chosen.text).toContain('<li><a href="?lang=fr" lang="fr" aria-current="true">')
  expect(await open(shareUrl, { Cookie: 'other=1; lang=fr' })).toMatchObject({ language: 'fr', cookie: null })
  expect((await open(`${shareUrl}?lang=it`, { Cookie: 'lang=fr' })).language).toBe('it')
  // The page of an unknown link, too.
  expect((await open(`${shareUrl}x`, { Cookie: 'lang=fr', 'Accept-Language': 'de' })).language).toBe('fr')
  for (const query of ['?lang=', '?lang=tlh', '?lang=<b>', '?lang=fr&lang=it', `?lang=${'a-'.repeat(2_000)}`])
    expect(await open(`${shareUrl}${query}`)).toMatchObject({ language: 'ja', cookie: null })
  for (const lang of ['', 'tlh', '%3Cb%3E', '__proto__'])
    expect((await open(shareUrl, { Cookie: `lang=${lang}` })).language).toBe('ja')
})

it('a brand that is deleted before its mail leaves gives way to the default one, on the page too', async () => {
  await setBrand('lotus', { name: 'Lotus Travel', replyTo: 'care@lotus.test' })
  await setBrand('outlet', { name: 'Lotus Outlet', replyTo: 'care@outlet.test' })
  const { shareUrl } = await buy({ deliverTo: { email: EMAIL, brand: 'outlet' } })
  await queueDeliveries(node.deps)
  await deleteBrand(node.deps, { tenantId: dealer.tenantId, brand: 'outlet' }, OPERATOR)
  await deliverMails()
  expect(smtp.mails[0]).toMatchObject({ sender: 'Lotus Travel <esim@gateway.test>', replyTo: 'care@lotus.test' })
  expect((await open(shareUrl)).seller).toBe('Lotus Travel')
  await deleteBrand(node.deps, { tenantId: dealer.tenantId, brand: 'lotus' }, OPERATOR)
  expect((await open(shareUrl)).seller).toBe('Test dealer')
})

it('an order and a send go out under the brand that they name, else the default one, and never another dealer’s', async () => {
  const set = (brand: string, name: string, of = dealer) => setBrand(brand, { name, replyTo: `care@${brand}.test` }, of)
  await set('harbour', 'Harbour of another', await addDealer(node.deps))
  await set('lotus', 'Lotus Travel')
  await set('outlet', 'Lotus <Outlet>')
  expect((await json('brand/list', {})).data.brandList).toEqual([
    { brand: 'lotus', name: 'Lotus Travel', isDefault: true },
    { brand: 'outlet', name: 'Lotus <Outlet>', isDefault: false },
  ])
  const asked = (profileId: string) => findHandOver(node.deps.db, { tenantId: dealer.tenantId, profileId })
  const forPage = await buy({ brand: 'outlet', language: 'ja' })
  expect(await asked(forPage.esimTranNo)).toEqual({ brand: 'outlet', language: 'ja' })
  const { esimTranNo } = await buy({ deliverTo: { email: EMAIL, brand: 'outlet' }, language: 'de' })
  expect(await asked(esimTranNo)).toEqual({ brand: 'outlet', language: 'de' })
  await deliverMails()
  expect((await send({ esimTranNo, language: 'ko' })).code).toBe('000000')
  await deliverMails()
  expect(await asked(esimTranNo)).toEqual({ brand: 'outlet', language: 'ko' })
  expect(smtp.mails.map(({ sender, replyTo }) => [sender, replyTo])).toEqual([
    ['"Lotus <Outlet>" <esim@gateway.test>', 'care@outlet.test'],
    ['Lotus Travel <esim@gateway.test>', 'care@lotus.test'],
  ])
  expect(smtp.mails[0]!.html).toContain('Lotus &lt;Outlet&gt;')
  expect(smtp.mails.map(({ html }) => html).join()).not.toMatch(/Harbour|<Outlet>/)
})

/** Lets the sandbox’s two seconds pass, and polls it. */
async function becomeInstalled(profileId: string): Promise<void> {
  const { db } = node.deps
  await db.query(sql`update sandbox_issued set issued_at = now() - interval '3 seconds'`)
  await db.query(sql`update profiles set poll_at = now() where profile_id = ${profileId}`)
  const polls = pollSuppliersLoop(node.deps)
  await waitUntil(async () => {
    const [found] = await db.query(
      sql`select from profiles where profile_id = ${profileId} and esim_status <> 'GOT_RESOURCE'`,
    )
    return found !== undefined
  })
  await polls.stop(5_000)
}

/** Reads the QR code in a PNG picture of ours: one bit a pixel, one data chunk, no filters. */
function decodePng(png: Buffer): string | undefined {
  const size = png.readUInt32BE(16)
  const at = png.indexOf('IDAT')
  const rows = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))
  const rowBytes = 1 + Math.ceil(size / 8)
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255)
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const isWhite = (rows[y * rowBytes + 1 + (x >> 3)]! >> (7 - (x & 7))) & 1
      if (!isWhite) pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3)
    }
  return jsQR(pixels, size, size)?.data
}
