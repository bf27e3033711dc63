import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '#platform/config/config.ts'
import { NODE_ENV } from '../harness/api-node.ts'
import { createAuthority } from '../harness/servers/certificates.ts'
import { type SmtpReceiver, startSmtpReceiver } from '../harness/servers/smtp-receiver.ts'

/* A mail server like Debian's Postfix after installation: it offers STARTTLS with a self-signed certificate. */

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-mail-'))
const authority = createAuthority('Private authority')
const [ca, otherCa] = [join(folder, 'ca.pem'), join(folder, 'other-ca.pem')]
writeFileSync(ca, authority.cert)
writeFileSync(otherCa, createAuthority('Another authority').cert)

let smtp: SmtpReceiver
let port: string
beforeAll(async () => {
  smtp = await startSmtpReceiver(authority.issue('localhost'))
  port = new URL(smtp.url).port
})
beforeEach(() => {
  smtp.mails.length = 0
})
afterAll(async () => {
  await smtp.close()
  rmSync(folder, { recursive: true })
})

/** @returns how the mail arrived, or why it did not */
async function send(url: string): Promise<string> {
  const server = createMailServer(url)
  const mail = {
    from: 'a@gateway.example',
    to: 'b@dealer.example',
    subject: 's',
    text: 't',
    html: '<p>x</p>',
    messageId: '<1@x>',
  }
  const outcome = await server.send(mail)
  const checked = await server.check()
  server.close()
  if (outcome.kind === 'failed') return outcome.message
  expect(checked).toBeUndefined()
  return smtp.mails[0]?.isEncrypted ? 'encrypted' : 'plain'
}

describe('a mail server without a publicly trusted certificate', () => {
  it('is used on loopback, where nobody can intercept the connection', async () => {
    expect(await send(`smtp://localhost:${port}`)).toBe('encrypted')
    expect(await send(`smtp://127.0.0.1:${port}`)).toBe('encrypted')
  })

  // Linux connects 0.0.0.0 to this machine, but it is not a loopback address.
  it('is refused on any other host', async () => {
    expect(await send(`smtp://0.0.0.0:${port}`)).toMatch(/certificate/)
    expect(smtp.mails).toEqual([])
  })

  it('is used without STARTTLS if ?tls=none is set', async () => {
    expect(await send(`smtp://0.0.0.0:${port}?tls=none`)).toBe('plain')
    expect(await send(`smtp://localhost:${port}?tls=none`)).toBe('plain')
  })

  it('is verified against the authority in ?ca=FILE', async () => {
    expect(await send(`smtp://localhost:${port}?ca=${ca}`)).toBe('encrypted')
    expect(await send(`smtp://localhost:${port}?ca=${otherCa}`)).toMatch(/certificate/)
    expect(await send(`smtp://0.0.0.0:${port}?ca=${ca}`)).toMatch(/does not match|altnames/)
  })
})

describe('SMTP_URL', () => {
  const faultsOf = (url: string) => {
    try {
      readConfig({ ...NODE_ENV, SMTP_URL: url, MAIL_FROM: 'a@gateway.example' }, [])
      return ''
    } catch (error) {
      return (error as { faults: string[] }).faults.join()
    }
  }
  it('accepts a certificate file, but not contradictory parameters', () => {
    expect(faultsOf(`smtp://mail.example:25?ca=${ca}`)).toBe('')
    expect(faultsOf(`smtps://mail.example:465?ca=${ca}`)).toBe('')
    expect(faultsOf(`smtp://mail.example:25?ca=${folder}/nothing.pem`)).toContain('nothing.pem')
    writeFileSync(join(folder, 'empty.pem'), 'x')
    expect(faultsOf(`smtp://mail.example:25?ca=${folder}/empty.pem`)).toContain('contains no certificate')
    expect(faultsOf(`smtp://mail.example:25?ca=${ca}&tls=none`)).toContain('tls=none')
    expect(faultsOf('smtps://mail.example:465?tls=none')).toContain('tls=none')
  })
})
