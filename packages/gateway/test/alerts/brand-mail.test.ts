import { createMailServer, type Mail, type MailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inBrand, type MailOwner } from '#alerts/mail/brand-mail.ts'
import { alertMail, linkMail } from '#alerts/mail/mail-texts.ts'
import { putBrand, putOperatorBrand } from '#brands/put-brand.ts'
import { type SmtpReceiver, startSmtpReceiver } from '#test/harness/servers/smtp-receiver.ts'
import { ALICE, createWalletTestbed } from '#test/harness/wallets.ts'

let wallets: Awaited<ReturnType<typeof createWalletTestbed>> // has its own database
let smtp: SmtpReceiver
let server: MailServer
beforeAll(async () => {
  wallets = await createWalletTestbed()
  smtp = await startSmtpReceiver()
  server = createMailServer(smtp.url)
})
afterAll(async () => {
  server.close()
  await smtp.close()
  await wallets.close()
})
beforeEach(() => {
  smtp.mails.length = 0
})

const FROM = 'eSIM <esim@gateway.example>'
const OPERATOR: MailOwner = { tenantId: null, brand: null }
const invitation = (name = 'Ada') => linkMail('INVITATION', { name, link: 'https://esim.example/console/welcome#x' })

async function sent(mail: Parameters<typeof inBrand>[3], owner = OPERATOR) {
  const branded = await inBrand(wallets, FROM, owner, mail)
  const outcome = await server.send({ ...branded, to: 'ada@shop.example', messageId: '<1@test>' } satisfies Mail)
  expect(outcome).toEqual({ kind: 'sent' })
  return smtp.mails.at(-1)!
}

const ICON = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>',
)

describe('a mail to a person', () => {
  it('comes from MAIL_FROM and says that replies are not read until the operator has a brand', async () => {
    const mail = await sent(invitation())
    expect([mail.sender, mail.replyTo]).toEqual([FROM, ''])
    expect(mail.text).toContain('replies are not read')
  })

  it('has the operator’s name, logo, colours, contact and legal links, and one button', async () => {
    const legalLinks = [{ label: 'Legal notice', url: 'https://m.example/legal' }]
    const contact = { supportEmail: 'care@m.example', supportPhone: '+44 20 7946', supportHours: 'Mon–Fri 9–18' }
    const input = { name: 'Meridian Mobile', accent: '#f5b800', ...contact, legalLinks }
    await putOperatorBrand(wallets.deps, { input, pictures: { icon: ICON } }, ALICE)
    const mail = await sent(invitation())
    expect([mail.sender, mail.replyTo]).toEqual(['Meridian Mobile <esim@gateway.example>', 'care@m.example'])
    expect(mail.pictures.logo!.subarray(1, 4).toString()).toBe('PNG')
    expect(mail.html).toContain('src="cid:logo"')
    expect(mail.html).toContain('background:#f5b800;color:#000000')
    expect(mail.html.match(/class="edge"/g)).toHaveLength(1)
    for (const text of ['Meridian Mobile', 'care@m.example', '+44 20 7946', 'Mon–Fri 9–18']) {
      expect(mail.text).toContain(text)
      expect(mail.html).toContain(text)
    }
    expect(mail.html).toContain('href="https://m.example/legal"')
    expect(mail.text).toContain('Your reply reaches Meridian Mobile.')
    // Nothing is loaded when the mail is opened.
    expect(mail.html.match(/(src|background)="?[^"]*http/g)).toBeNull()
    expect(
      (await sent(alertMail({ kind: 'LOW_BALANCE', message: 'Low.' }, { client: 'Lotus', consoleUrl: '', path: '/' })))
        .html,
    ).toContain('care@m.example')
  })

  it('is not changed by a brand of hostile texts', async () => {
    const input = {
      name: '<img src=x onerror=alert(1)>"Ops" <root@evil.example>, x@y',
      supportHours: '<script>alert(1)</script>',
      legalLinks: [{ label: '</a><b>', url: 'https://m.example/?a=1&b=2' }],
    }
    await putOperatorBrand(wallets.deps, { input, pictures: {} }, ALICE)
    const mail = await sent(invitation())
    expect([mail.from, mail.to]).toEqual(['esim@gateway.example', 'ada@shop.example'])
    expect(mail.sender).toMatch(/^"(\\"|[^"])*" <esim@gateway\.example>$/)
    expect(mail.html).not.toMatch(/<script|<img src=x|<b>|&b=/)
  })
})

describe('a mail to a traveller', () => {
  it('has nothing of the operator’s brand where its dealer has one', async () => {
    const { tenantId } = await wallets.tenant()
    await putOperatorBrand(
      wallets.deps,
      { input: { name: 'Meridian', supportEmail: 'care@m.example' }, pictures: { icon: ICON } },
      ALICE,
    )
    await putBrand(
      wallets.deps,
      { tenantId, brand: 'lotus' },
      { input: { name: 'Lotus', senderName: 'Lotus eSIM' }, pictures: {} },
      ALICE,
    )
    const mail = await sent(invitation(), { tenantId, brand: null })
    expect([mail.sender, mail.replyTo, mail.pictures]).toEqual(['Lotus eSIM <esim@gateway.example>', '', {}])
    expect(mail.html + mail.text).not.toMatch(/Meridian|care@m/)
    expect(mail.text).toContain('replies are not read')
  })
})
