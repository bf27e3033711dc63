import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Log } from '../telemetry/log.ts'
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts'

export interface CertificateWatch {
  readonly current: Certificate
  /** Called with every certificate that takes the place of the current one. */
  onChange(listener: (certificate: Certificate) => void): void
  stop(): void
}

/**
 * Files are read again and compared: renewals replace links as often as files, and some file systems tell nobody. Two
 * small files every two seconds cost nothing.
 */
const POLL_MS = 2_000

/**
 * Follows a certificate through its renewals. What cannot be used is logged and the current one kept: a renewal writes
 * two files, so only what is still unusable at the next look is told, once.
 * @throws an Error in a sentence when the first certificate cannot be used
 */
export function watchCertificate(files: CertificateFiles, log: Log, pollMs = POLL_MS): CertificateWatch {
  let current = readCertificate(files)
  const listeners: ((certificate: Certificate) => void)[] = []
  let served = digest(files)
  let suspect: string | undefined
  let told: string | undefined
  warnOfDates(current, log)

  function look(): void {
    const found = digest(files)
    if (found === served) {
      suspect = undefined
      return
    }
    try {
      const next = readCertificate(files)
      for (const listener of listeners) listener(next)
      current = next
      served = found
      suspect = undefined
      log.info({ names: current.names, expiresAt: current.expiresAt }, 'the TLS certificate was replaced')
      warnOfDates(current, log)
    } catch (error) {
      if (found === suspect && found !== told) {
        told = found
        const { expiresAt } = current
        log.error({ err: error, expiresAt }, 'the new TLS certificate cannot be used; the old one stays')
      }
      suspect = found
    }
  }

  const timer = setInterval(look, pollMs).unref()
  return {
    get current() {
      return current
    },
    onChange: (listener) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}

/** It is served all the same: callers hear more from an expired certificate than from a closed port. */
function warnOfDates({ startsAt, expiresAt, names }: Certificate, log: Log): void {
  const now = Date.now()
  if (startsAt.getTime() > now) log.warn({ names, startsAt: startsAt }, 'the TLS certificate is not valid yet')
  if (expiresAt.getTime() <= now) log.warn({ names, expiresAt: expiresAt }, 'the TLS certificate has expired')
}

function digest({ certFile, keyFile }: CertificateFiles): string {
  const hash = createHash('sha256')
  for (const file of [certFile, keyFile]) {
    try {
      hash.update(readFileSync(file))
    } catch (error) {
      hash.update(String((error as NodeJS.ErrnoException).code))
    }
    hash.update('\n')
  }
  return hash.digest('hex')
}
