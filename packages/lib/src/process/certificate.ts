import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import type { Log } from '#telemetry/log.ts'

export interface CertificateFiles {
  certFile: string
  keyFile: string
}

/** A certificate chain and the matching private key, in PEM. */
export interface Certificate {
  cert: Buffer
  key: Buffer
  startsAt: Date
  expiresAt: Date
  /** Host names and addresses, as the certificate writes them (`DNS:esim.example.com, IP Address:192.0.2.1`). */
  names: string
  /** True if it is signed with its own key, so callers refuse it unless they are configured to accept it. */
  isSelfSigned: boolean
  isFor(host: string): boolean
}

/** @throws Error that names the faulty file */
export function readCertificate(files: CertificateFiles): Certificate {
  const cert = read(files.certFile)
  const key = read(files.keyFile)
  const leaf = parsed(() => new X509Certificate(cert), `${files.certFile} contains no certificate in PEM.`)
  const privateKey = parsed(() => createPrivateKey(key), `${files.keyFile} contains no unencrypted private key in PEM.`)
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new Error(`The key in ${files.keyFile} does not match the first certificate in ${files.certFile}.`)
  }
  return {
    cert,
    key,
    startsAt: new Date(leaf.validFrom),
    expiresAt: new Date(leaf.validTo),
    names: leaf.subjectAltName ?? leaf.subject,
    isSelfSigned: leaf.verify(leaf.publicKey),
    isFor: (host) => (ipaddr.isValid(host) ? leaf.checkIP(host) : leaf.checkHost(host)) !== undefined,
  }
}

/** The PEM text of a file with CA certificates. @throws Error that names the faulty file */
export function readAuthorities(file: string): Buffer {
  const authorities = read(file)
  parsed(() => new X509Certificate(authorities), `${file} contains no certificate in PEM.`)
  return authorities
}

function read(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}.`, { cause: error })
  }
}

function parsed<Value>(parse: () => Value, otherwise: string): Value {
  try {
    return parse()
  } catch (cause) {
    throw new Error(otherwise, { cause })
  }
}

export interface WatchedCertificate {
  readonly current: Certificate
  /** Called with every certificate that replaces the current one. */
  onChange(listener: (certificate: Certificate) => void): void
  stop(): void
}

/**
 * Files are polled: renewals often replace links instead of files, and some file systems do not send notifications. Reading
 * two small files every two seconds costs nothing.
 */
const POLL_MS = 2_000

/**
 * Reloads a certificate when its files change. An unusable certificate is logged and the current one kept. A renewal writes
 * two files, so a fault is logged only once, and only if it persists at the next check.
 * @throws Error if the first certificate cannot be used
 */
export function watchCertificate(files: CertificateFiles, log: Log, pollMs = POLL_MS): WatchedCertificate {
  let current = readCertificate(files)
  const listeners: ((certificate: Certificate) => void)[] = []
  let served = digest(files)
  let suspect: string | undefined
  let reported: string | undefined
  warnOfDates(current, log)

  function check(): void {
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
      if (found === suspect && found !== reported) {
        reported = found
        const { expiresAt } = current
        log.error({ err: error, expiresAt }, 'the new TLS certificate cannot be used; keeping the old one')
      }
      suspect = found
    }
  }

  const timer = setInterval(check, pollMs).unref()
  return {
    get current() {
      return current
    },
    onChange: (listener) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}

/**
 * Warns about validity dates. An expired certificate is still served, because callers see a clearer error than from
 * a closed port.
 */
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
