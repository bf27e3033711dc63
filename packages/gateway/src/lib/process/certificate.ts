import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'

export interface CertificateFiles {
  certFile: string
  keyFile: string
}

/** A certificate chain and its key in PEM, which fit together. */
export interface Certificate {
  cert: Buffer
  key: Buffer
  startsAt: Date
  expiresAt: Date
  /** Host names and addresses, as the certificate writes them (`DNS:esim.example.com, IP Address:192.0.2.1`). */
  names: string
  isFor(host: string): boolean
}

/** @throws an Error whose message is a sentence that names the file at fault. */
export function readCertificate(files: CertificateFiles): Certificate {
  const cert = read(files.certFile)
  const key = read(files.keyFile)
  const leaf = parsed(() => new X509Certificate(cert), `${files.certFile} holds no certificate in PEM.`)
  const privateKey = parsed(
    () => createPrivateKey(key),
    `${files.keyFile} holds no private key in PEM without password.`,
  )
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new Error(`The key in ${files.keyFile} is not that of the first certificate in ${files.certFile}.`)
  }
  return {
    cert,
    key,
    startsAt: new Date(leaf.validFrom),
    expiresAt: new Date(leaf.validTo),
    names: leaf.subjectAltName ?? leaf.subject,
    isFor: (host) => (ipaddr.isValid(host) ? leaf.checkIP(host) : leaf.checkHost(host)) !== undefined,
  }
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
