import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { canRun } from '#test/harness/can-run.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import { removeFolder } from '#test/harness/temporary-folders.ts'

/* Debian's Postfix with Debian's TLS settings, master.cf and certificate, on a different port. It discards its e-mails. */

const CERTIFICATE = '/etc/ssl/certs/ssl-cert-snakeoil.pem'
const SETTINGS = '/usr/share/postfix'

let postfix: ChildProcess
let folder: string
let port: number
/** The host name in the certificate. */
let host: string
/**
 * Written by Postfix to its standard output, which must be a file: Postfix cannot open the socket that Node creates for a
 * pipe.
 */
const log = () => readFileSync(join(folder, 'log'), 'utf8')

describe.skipIf(!isPossible())("Debian's Postfix", () => {
  beforeAll(start)
  afterAll(stop)

  it.each(['localhost', '127.0.0.1'])('receives mail over STARTTLS at %s without ?ca', async (loopback) => {
    expect(await send(`smtp://${loopback}:${port}`)).toBe('encrypted')
  })

  it('is refused without ?ca if its name or address is not loopback', async () => {
    expect(await send(`smtp://${host}:${port}`)).toMatch(/self-signed certificate/)
    expect(await send(`smtp://0.0.0.0:${port}`)).toMatch(/self-signed certificate/)
  })

  it('receives mail under the host name in the certificate that ?ca specifies', async () => {
    expect(await send(`smtp://${host}:${port}?ca=${CERTIFICATE}`)).toBe('encrypted')
  })

  it('is refused with ?ca if its name differs from the certificate', async () => {
    expect(await send(`smtp://0.0.0.0:${port}?ca=${CERTIFICATE}`)).toMatch(/does not match|altnames/)
  })

  it('receives mail without STARTTLS if ?tls=none is set', async () => {
    expect(await send(`smtp://0.0.0.0:${port}?tls=none`)).toBe('plain')
  })
})

function isPossible(): boolean {
  if (!canRun("mail through Debian's Postfix", 'postfix')) return false
  if (process.getuid?.() === 0 && existsSync(CERTIFICATE)) return true
  console.warn(`\nNOT RUN: mail through Debian's Postfix. It needs root and ${CERTIFICATE} (package ssl-cert).\n`)
  return false
}

async function start(): Promise<void> {
  host = new X509Certificate(readFileSync(CERTIFICATE)).subject.replace(/^CN=/, '')
  const addresses = new Set(['127.0.0.1', (await lookup(host, 4)).address])
  port = await freePort()
  folder = mkdtempSync(join(tmpdir(), 'dealer-esim-postfix-'))
  chmodSync(folder, 0o755)
  for (const name of ['queue', 'data']) mkdirSync(join(folder, name))
  chownSync(join(folder, 'data'), Number(execFileSync('id', ['-u', 'postfix'])), 0)
  writeFileSync(join(folder, 'main.cf'), `${readFileSync(`${SETTINGS}/main.cf.tls`)}\n${mainSettings()}`)
  const listening = [...addresses].map((address) => `${address}:${port} inet n - n - - smtpd`).join('\n')
  const services = readFileSync(`${SETTINGS}/master.cf.dist`, 'utf8')
    .replace(/^smtp +inet .*$/m, listening)
    // Without chroot, which would need copies of system files.
    .replaceAll(/^(\w+ +unix +\S+ +\S+ +)y/gm, '$1n')
  writeFileSync(join(folder, 'master.cf'), services)
  const output = openSync(join(folder, 'log'), 'w')
  postfix = spawn('postfix', ['-c', folder, 'start-fg'], { stdio: ['ignore', output, output] })
  closeSync(output)
  await vi.waitFor(() => expect(log()).toContain('daemon started'), { timeout: 30_000 })
}

function mainSettings(): string {
  return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = /dev/stdout
smtpd_tls_loglevel = 1
myhostname = gateway.example
mydestination = dealer.example
local_recipient_maps =
local_transport = discard:
default_transport = discard:
`
}

async function stop(): Promise<void> {
  if (postfix?.exitCode === null) {
    const ended = once(postfix, 'exit')
    execFileSync('postfix', ['-c', folder, 'stop'], { stdio: 'ignore' })
    await ended
  }
  if (folder) removeFolder(folder)
}

/** @returns how the mail arrived, or why it did not */
async function send(url: string): Promise<string> {
  const before = log().length
  const server = createMailServer(url)
  const messageId = `<${crypto.randomUUID()}@gateway.example>`
  const outcome = await server.send({
    from: 'a@gateway.example',
    to: 'b@dealer.example',
    subject: 's',
    text: 't',
    html: '<p>x</p>',
    messageId,
  })
  const checked = await server.check()
  server.close()
  if (outcome.kind === 'failed') {
    expect(checked).toBe(outcome.message)
    return outcome.message
  }
  expect(checked).toBeUndefined()
  await expect.poll(() => log().slice(before)).toMatch(/status=sent/)
  expect(log().slice(before)).toContain(`message-id=${messageId}`)
  return log().slice(before).includes('TLS connection established') ? 'encrypted' : 'plain'
}
