import { createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

const DAY_MS = 86_400_000

/** A certificate and its key as PEM, for tests of mutual TLS. */
export interface TestCertificate {
  cert: string
  key: string
}

/** Creates a certificate authority that issues EC P-256 certificates, valid for a day by default. */
export function createAuthority(name: string) {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = distinguishedName(name)
  const cert = certificate({
    subject,
    issuer: subject,
    subjectKey: pair.publicKey,
    issuerKey: pair.privateKey,
    ca: true,
    expiresAt: Date.now() + DAY_MS,
  })
  return {
    cert,
    issue(commonName: string, expiresAt = Date.now() + DAY_MS): TestCertificate {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        cert: certificate({
          subject: distinguishedName(commonName),
          issuer: subject,
          subjectKey: own.publicKey,
          issuerKey: pair.privateKey,
          ca: false,
          expiresAt,
        }),
        key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      }
    },
  }
}

interface CertificateFields {
  subject: Buffer
  issuer: Buffer
  subjectKey: KeyObject
  issuerKey: KeyObject
  ca: boolean
  expiresAt: number
}

/** X.509 v3 (RFC 5280 §4.1), with the names localhost and 127.0.0.1. */
function certificate({ subject, issuer, subjectKey, issuerKey, ca, expiresAt }: CertificateFields): string {
  const algorithm = sequence(oid('2a8648ce3d040302')) // ecdsa-with-SHA256
  const serial = Buffer.concat([Buffer.of(1), randomBytes(15)])
  const now = Date.now()
  const extensions = [
    extension('551d13', sequence(...(ca ? [der(0x01, Buffer.of(0xff))] : []))), // basicConstraints
    extension('551d11', sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))),
  ]
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    algorithm,
    issuer,
    sequence(utcTime(now - 2 * DAY_MS), utcTime(expiresAt)),
    subject,
    subjectKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = createSign('sha256').update(body).sign(issuerKey)
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])))
  const lines = whole.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function utcTime(timeMs: number): Buffer {
  const digits = new Date(timeMs).toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

/** Tag, length, value. */
function der(tag: number, value: Buffer): Buffer {
  const { length } = value
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), value])
}
