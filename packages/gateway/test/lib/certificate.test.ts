import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCertificate, watchCertificate } from '@dealer-esim/lib/process/certificate.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createAuthority } from '../harness/servers/certificates.ts'

const POLL_MS = 2_000
const authority = createAuthority('Test authority')
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-certificate-'))
const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }

function install({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(files.certFile, cert)
  writeFileSync(files.keyFile, key)
}

function recordingLog() {
  const lines: string[] = []
  const line = (level: string) => (_: unknown, message: string) => void lines.push(`${level}: ${message}`)
  const log = { debug() {}, info: line('info'), warn: line('warn'), error: line('error'), fatal() {} } as unknown as Log
  return { log, lines }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a watched certificate', () => {
  it('stays in use, with a single log entry, while its replacement is unusable', () => {
    const [first, second] = [authority.issue('localhost'), authority.issue('localhost')]
    install(first)
    const { log, lines } = recordingLog()
    const watch = watchCertificate(files, log)
    install({ ...second, key: first.key })
    vi.advanceTimersByTime(POLL_MS)
    expect(lines).toEqual([]) // the key may be about to follow
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(lines).toEqual(['error: the new TLS certificate cannot be used; keeping the old one'])
    expect(watch.current.cert.toString()).toBe(first.cert)
    install(second)
    vi.advanceTimersByTime(POLL_MS)
    expect(lines.slice(1)).toEqual(['info: the TLS certificate was replaced'])
    expect(watch.current.cert.toString()).toBe(second.cert)
    watch.stop()
  })

  it('is kept while its files are missing', () => {
    install(authority.issue('localhost'))
    const { log, lines } = recordingLog()
    const watch = watchCertificate(files, log)
    const { cert } = watch.current
    rmSync(files.certFile)
    vi.advanceTimersByTime(2 * POLL_MS)
    expect(lines).toEqual(['error: the new TLS certificate cannot be used; keeping the old one'])
    writeFileSync(files.certFile, cert)
    vi.advanceTimersByTime(2 * POLL_MS)
    expect(lines).toHaveLength(1)
    watch.stop()
  })

  it('is still served after its expiry, with a warning', () => {
    install(authority.issue('localhost', Date.now() - 1_000))
    const { log, lines } = recordingLog()
    watchCertificate(files, log).stop()
    expect(lines).toEqual(['warn: the TLS certificate has expired'])
  })

  it('matches the names and addresses for which it was issued', () => {
    install(authority.issue('localhost'))
    const { isFor } = readCertificate(files)
    expect([isFor('localhost'), isFor('127.0.0.1'), isFor('esim.example.com'), isFor('10.0.0.1')]).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})
