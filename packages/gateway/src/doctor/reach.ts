import { isLoopback } from '../config/rules.ts'
import type { Outbound } from '../lib/outbound/outbound.ts'
import { readCertificate } from '../lib/process/certificate.ts'
import type { Finding, Findings, Patient } from './finding.ts'

/*
 * How dealers come in: addresses, proxies, the certificate.
 */

const ASKED_WITHIN_MS = 5_000
const ANSWER_SIZE_MAX_BYTES = 65_536

/** Sends a dealer's request without credentials: a gateway answers in its envelope that a header is missing. */
export async function checkAddresses({ config, outbound }: Patient, say: Findings): Promise<Finding[]> {
  const found: Finding[] = []
  const { deployment, host, publicUrl, metricsHost, metricsPort } = config
  if (deployment !== undefined && deployment !== 'local' && host !== undefined && isLoopback(host)) {
    found.push(
      say.warning(
        `HOST is ${host}: only programs on this machine, such as a proxy, can reach the gateway. Set HOST to 0.0.0.0, :: or an address of this machine if others should.`,
      ),
    )
  }
  if (metricsHost !== undefined && metricsPort) {
    found.push(say.ok(await processWords(outbound, metricsHost, metricsPort)))
  }
  if (publicUrl === undefined) return found
  const outcome = await outbound.request({
    url: `${publicUrl}/open-api/v1/health`,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    timeoutMs: ASKED_WITHIN_MS,
    answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    allowPrivate: true,
  })
  if (outcome.kind === 'failed') {
    const words = `PUBLIC_URL ${publicUrl} does not answer from here: ${outcome.message}.`
    return [...found, say.warning(`${words} Start the gateway, and look at DNS, the firewall and the proxy.`)]
  }
  return [...found, judgeAnswer(publicUrl, outcome.status, codeOf(outcome.body), say)]
}

function judgeAnswer(publicUrl: string, status: number, code: string | undefined, say: Findings): Finding {
  if (code === '000101') return say.ok(`PUBLIC_URL ${publicUrl} leads to a gateway.`)
  if (code === '101008') {
    return say.fault(
      `PUBLIC_URL ${publicUrl} leads to a gateway that takes the call for plain HTTP. Name the proxy's address in TRUSTED_PROXIES, and let it send X-Forwarded-Proto and X-Forwarded-For.`,
    )
  }
  return say.warning(
    `PUBLIC_URL ${publicUrl} answers ${status}, and not as a gateway does. Look at the proxy's routes: POST …/open-api/v1/health belongs to the gateway.`,
  )
}

function codeOf(body: Buffer): string | undefined {
  try {
    return (JSON.parse(body.toString()) as { code?: string }).code
  } catch {
    return undefined
  }
}

async function processWords(outbound: Outbound, metricsHost: string, metricsPort: number): Promise<string> {
  const host = metricsHost === '0.0.0.0' ? '127.0.0.1' : metricsHost === '::' ? '[::1]' : metricsHost
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${metricsPort}/readyz`
  const [timeoutMs, answerSizeMaxBytes] = [ASKED_WITHIN_MS, ANSWER_SIZE_MAX_BYTES]
  const outcome = await outbound.request({ url, method: 'GET', timeoutMs, answerSizeMaxBytes, allowPrivate: true })
  if (outcome.kind === 'failed') return 'No gateway with this configuration runs on this machine at the moment.'
  return outcome.status === 200
    ? `A gateway runs on this machine, and is ready (${url}).`
    : `A gateway runs on this machine, and is not ready: ${outcome.body.toString().trim()} (${url}).`
}

export function checkProxies({ config }: Patient, say: Findings): Finding[] {
  const { trustedProxies = [], tlsCertFile } = config
  const wide = trustedProxies.filter((block) => block.endsWith('/0'))
  if (wide.length > 0) {
    return [
      say.fault(
        `TRUSTED_PROXIES holds ${wide.join(' and ')}: anybody could say that a call came by HTTPS, and from any address. Name your proxies only.`,
      ),
    ]
  }
  if (trustedProxies.length > 0) {
    return [say.ok(`Believed about callers: ${trustedProxies.join(', ')}, and nobody else.`)]
  }
  return tlsCertFile === undefined ? [] : [say.ok('No proxy is believed: the gateway ends TLS itself.')]
}

const DAY_MS = 86_400_000
const EXPIRES_SOON_MS = 14 * DAY_MS

export function checkCertificate({ config }: Patient, say: Findings): Finding[] {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, publicUrl, consoleUrl } = config
  if (certFile === undefined || keyFile === undefined) return []
  const certificate = readable(certFile, keyFile)
  if (certificate === undefined) return [] // reported as a fault of the configuration
  const { startsAt, expiresAt, isFor, names } = certificate
  const [from, until] = [startsAt, expiresAt].map((time) => time.toISOString().slice(0, 10))
  const found: Finding[] = []
  const now = Date.now()
  if (startsAt.getTime() > now) {
    found.push(say.fault(`The certificate is not valid before ${from}. Install one that is, or set this clock right.`))
  } else if (expiresAt.getTime() <= now) {
    found.push(say.fault(`The certificate expired on ${until}. Renew it; a running gateway takes it up by itself.`))
  } else if (expiresAt.getTime() - now < EXPIRES_SOON_MS) {
    found.push(say.warning(`The certificate expires on ${until}. See that its renewal works.`))
  } else found.push(say.ok(`The certificate fits its key and is valid until ${until}.`))
  const urls = { PUBLIC_URL: publicUrl, CONSOLE_URL: consoleUrl }
  for (const [variable, url] of Object.entries(urls)) {
    const host = url && new URL(url).hostname.replace(/^\[|\]$/g, '')
    if (!host || isFor(host)) continue
    found.push(
      say.fault(`The certificate is for ${names}, and not for ${host} of ${variable}. Get one that names that host.`),
    )
  }
  return found
}

function readable(certFile: string, keyFile: string) {
  try {
    return readCertificate({ certFile, keyFile })
  } catch {
    return undefined
  }
}
