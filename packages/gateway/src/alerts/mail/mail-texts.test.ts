import { describe, expect, test } from 'vitest'
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
  expect(html).toContain('eSIM &#60;img src=x onerror=&#34;alert(1)&#34;&#62; &#38; more')
  expect(html).toContain('href="https://esim.example.com/console/orders?status=UNDER_REVIEW&#38;x=1"')
  expect(html).not.toMatch(/<(img|script|link)/)
  const invited = linkMail('INVITATION', { name: '<b>Ada</b>', link: 'https://x' })
  expect(invited.html).not.toContain('<b>')
})

describe.each([
  ['en', /^[^\p{Script=Han}]+$/u],
  ['zh-Hans', /^[^\p{Script=Han}]*\p{Script=Han}/u],
])('in %s', (language, script) => {
  const reader = { language, timeZone: 'Asia/Shanghai' }
  const message = 'The ledger has 2 faults.'
  const link = { name: 'Ada', link: 'https://esim.example/console/welcome#x' }
  const mails = [
    ...Object.keys(ALERT_SUBJECTS).map((kind) => alertMail({ kind, message }, { ...about, client: 'Acme' }, reader)),
    ...(['INVITATION', 'PASSWORD_RESET', 'FORGOTTEN_PASSWORD'] as const).map((kind) => linkMail(kind, link, reader)),
    passkeyMail({ name: 'Phone', accountUrl: 'https://esim.example/console/account' }, reader),
    testMail('https://esim.example/console', reader),
  ]

  test.each(mails.map((mail) => [mail.subject, mail] as const))('every part of “%s” is translated', (_, mail) => {
    expect(mail.html).toContain(`<html lang="${language}"`)
    const texts = mail.html.replaceAll(/<style>[^<]*<[/]style>/g, '').split(/<[^>]*>/)
    const ours = [mail.subject, ...texts, ...mail.text.split('\n')].filter(
      (part) => part.trim() !== '' && !part.startsWith('https://') && part !== message,
    )
    expect(ours.length).toBeGreaterThanOrEqual(8)
    for (const part of ours) expect(part).toMatch(script)
  })
})
