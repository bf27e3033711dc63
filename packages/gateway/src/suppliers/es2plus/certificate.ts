import { X509Certificate } from 'node:crypto'

/** Names a client certificate for an operator: subject, issuer, fingerprint and end. @param pem with its chain, if it has one */
export function describeCertificate(pem: string): string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch {
    return 'cert, which is not a PEM certificate'
  }
  const { subject, issuer, fingerprint256, validTo } = certificate
  const name = (text: string) => text.trim().replaceAll('\n', ', ')
  const end = new Date(validTo)
  const validity = `${end < new Date() ? 'EXPIRED' : 'valid until'} ${end.toISOString().slice(0, 10)}`
  return `${name(subject)}, issued by ${name(issuer)}, ${validity}, SHA-256 ${fingerprint256.replaceAll(':', '').toLowerCase()}`
}
