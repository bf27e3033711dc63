import { brandColours, DEFAULT_ACCENT } from '@dealer-esim/contract'
import { describe, expect, test } from 'vitest'
import type { Brand } from '#brands/brand.ts'
import { composeInBrand, type MailReader, type MailText } from './mail-template.ts'
import type * as mails from './mail-texts.ts'
import { ALERT_SUBJECTS, alertMail, linkMail, passkeyMail, testMail } from './mail-texts.ts'

const about = {
  client: 'Acme\r\nBcc: everybody@example.com',
  consoleUrl: 'https://esim.example.com/console',
  path: '/orders?status=UNDER_REVIEW&x=1',
}

test('line breaks in a name cannot add mail headers', () => {
  for (const kind of Object.keys(ALERT_SUBJECTS)) {
    expect(alertMail({ kind, message: 'A sentence.' }, about).subject).not.toMatch(/[\r\n]/)
  }
  expect(linkMail('INVITATION', { name: 'Ada\r\n.\r\nQUIT', link: 'https://x' }).text).toMatch(/^Hello Ada \. QUIT,\n/)
})

test.each([
  'Your account ends today. Keep it: https://evil.test/in',
  'evil.test',
  'Ada, ask help@evil.test',
  'evil．test',
  'evil.test\\in',
])('a name that looks like an address is omitted from the greeting: %s', (name) => {
  expect(linkMail('INVITATION', { name, link: 'https://x' }).text).toMatch(/^Hello,\n/)
})

test.each(['Ada', 'Dr. Ada O’Neil-Müller', '李 小龍'])('an ordinary name appears in the greeting: %s', (name) => {
  expect(linkMail('PASSWORD_RESET', { name, link: 'https://x' }).text).toContain(`Hello ${name},\n`)
})

test('an alert mail contains the console’s message and a link to the details', () => {
  const { subject, text } = alertMail(
    { kind: 'LOW_BALANCE', message: 'The balance is 3.00 USD.' },
    { ...about, client: 'Acme' },
  )
  expect(subject).toBe('Your balance is low: Acme')
  expect(text).toMatch(
    /^The balance is 3\.00 USD\.\n\nDetails in the console:\nhttps:\/\/esim\.example\.com\/console\/orders\?status=UNDER_REVIEW&x=1\n/,
  )
})

test('an alert kind without its own subject gets a general subject', () => {
  expect(alertMail({ kind: 'NEW_KIND', message: 'Something.' }, about).subject).toBe('An alert about your eSIM account')
})

test('the HTML version has the same content as the text version, and escapes markup in names and values', () => {
  const message = 'eSIM <img src=x onerror="alert(1)"> & more'
  const { html } = alertMail({ kind: 'LOW_STOCK', message }, about)
  expect(html).toContain('eSIM &lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; more')
  expect(html).toContain('href="https://esim.example.com/console/orders?status=UNDER_REVIEW&amp;x=1"')
  expect(html).not.toMatch(/<(img|script|link)/)
  const invited = linkMail('INVITATION', { name: '<b>Ada</b>', link: 'https://x' })
  expect(invited.html).not.toContain('<b>')
})

/** Every function that composes a mail to people, and all of its mails. */
const MAILS: Record<Extract<keyof typeof mails, `${string}Mail`>, (reader: MailReader) => MailText[]> = {
  alertMail: (reader) =>
    [...Object.keys(ALERT_SUBJECTS), 'NEW_KIND'].map((kind) =>
      alertMail({ kind, message: 'The ledger does not add up' }, { ...about, client: 'Acme' }, reader),
    ),
  linkMail: (reader) =>
    (['INVITATION', 'PASSWORD_RESET', 'FORGOTTEN_PASSWORD'] as const).flatMap((kind) =>
      ['Ada', ''].map((name) => linkMail(kind, { name, link: 'https://esim.example/console/welcome#x' }, reader)),
    ),
  passkeyMail: (reader) => [passkeyMail({ name: 'Phone', accountUrl: 'https://esim.example/console/account' }, reader)],
  testMail: (reader) => [testMail('https://esim.example/console', reader)],
}

const BRAND: Brand = {
  ...{ name: 'Lotus', isOperator: true, accentInk: '#ffffff', colours: brandColours(DEFAULT_ACCENT) },
  ...{ supportEmail: 'help@lotus.example', supportPhone: '+86 10 1234', supportHours: '9–17' },
  legalLinks: [{ label: 'Imprint', url: 'https://lotus.example/imprint' }],
}

/** What people have named, addresses, and what is written alike in Chinese. */
const DATA = /https?:\S+|\S+@\S+|\b(Acme|Ada|Phone|Lotus|Imprint|eSIM)\b/g

describe.each(Object.entries(MAILS))('%s in Chinese', (_, compose) => {
  const parts = compose({ language: 'zh-Hans', timeZone: 'Asia/Shanghai' }).map((mail) => mail.parts!)

  test.each(parts.map((part) => [part.subject, part] as const))('has no English text: %s', (_, part) => {
    for (const brand of [undefined, BRAND]) {
      const { subject, text, html } = composeInBrand(part, brand, undefined)
      const shown = [subject, ...text.split('\n'), ...html.replaceAll(/<style>[^<]*<[/]style>/g, '').split(/<[^>]*>/)]
      expect(shown.filter((line) => /\p{Script=Han}/u.test(line)).length).toBeGreaterThanOrEqual(8)
      expect(shown.filter((line) => /[a-z]{2}/i.test(line.replaceAll(DATA, '')))).toEqual([])
      expect(html).toContain('<html lang="zh-Hans"')
    }
  })
})

test('a mail in English has no Chinese text', () => {
  for (const { subject, text, html } of Object.values(MAILS).flatMap((compose) =>
    compose({ language: 'en', timeZone: null }),
  )) {
    expect(subject + text + html).not.toMatch(/\p{Script=Han}/u)
    expect(html).toContain('<html lang="en"')
  }
})
