import { expect, test } from 'vitest'
import { linkMail, ALERT_SUBJECTS, alertMail } from './texts.ts'

const about = { client: 'Acme\r\nBcc: everybody@example.com', consoleUrl: 'https://esim.example.com/console' }

test('a name cannot write headers', () => {
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
])('a name cannot lead elsewhere: %s', (name) => {
  expect(linkMail('INVITATION', { name, link: 'https://x' }).text).toMatch(/^Hello,\n/)
})

test.each(['Ada', 'Dr. Ada O’Neil-Müller', '李 小龍'])('a name that is one is greeted by: %s', (name) => {
  expect(linkMail('PASSWORD_RESET', { name, link: 'https://x' }).text).toContain(`Hello ${name},\n`)
})

test('a notice says what the console says, and where to go on', () => {
  const { subject, text } = alertMail(
    { kind: 'LOW_BALANCE', message: 'The balance is 3.00 USD.' },
    { ...about, client: 'Acme' },
  )
  expect(subject).toBe('Your balance is low: Acme')
  expect(text).toMatch(
    /^The balance is 3\.00 USD\.\n\nThe console tells more: https:\/\/esim\.example\.com\/console\/wallet\n/,
  )
})

test('a kind that nobody wrote a subject for is told all the same', () => {
  expect(alertMail({ kind: 'NEW_KIND', message: 'Something.' }, about).subject).toBe(
    'A notice about your eSIM account',
  )
})
