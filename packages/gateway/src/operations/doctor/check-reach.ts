import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { readCertificate } from '@dealer-esim/lib/process/certificate.ts'
import { isLoopback } from '#platform/config/rules.ts'
import type { CheckInput, Finding, Findings } from './finding.ts'

/* Checks of the process's environment: its addresses, proxies, certificate and mail server. */

const TIMEOUT_MS = 5_000
const ANSWER_SIZE_MAX_BYTES = 65_536

/** Checks the path between dealers and the gateway: HOST, the metrics address, and whether PUBLIC_URL reaches a gateway. */
export async function checkAddresses({ config, outbound }: CheckInput, findings: Findings): Promise<Finding[]> {
  const found: Finding[] = []
  const { deployment, host, publicUrl, metricsHost, metricsPort, trustedProxies = [] } = config
  if (deployment !== undefined && deployment !== 'local' && host !== undefined && isLoopback(host)) {
    // This is intended if a proxy on this machine forwards requests.
    const isProxied = trustedProxies.some((block) => isLoopback(block.replace(/\/.*/, '')))
    const make = isProxied ? findings.ok : findings.warning
    found.push(
      make(
        `HOST is ${host}: only programs on this machine, such as a proxy, can reach the gateway. If others should, set HOST to 0.0.0.0, :: or an address of this machine.`,
      ),
    )
  }
  if (metricsHost !== undefined && metricsPort) {
    found.push(findings.ok(await describeProcess(outbound, metricsHost, metricsPort)))
  }
  if (publicUrl === undefined) return found
  const outcome = await callPublicUrl(outbound, publicUrl)
  if (outcome.kind === 'failed') {
    return [
      ...found,
      findings.warning(
        `PUBLIC_URL ${publicUrl} cannot be reached from this machine: ${outcome.message}. Start the gateway, and check DNS, the firewall and the proxy.`,
      ),
    ]
  }
  return [...found, judgeAnswer(publicUrl, outcome.status, codeOf(outcome.body), findings)]
}

/** Calls PUBLIC_URL as a dealer would, without credentials: a gateway answers with the code for a missing header. */
export function callPublicUrl(outbound: CheckInput['outbound'], publicUrl: string) {
  return outbound.request({
    url: `${publicUrl}/open-api/v1/health`,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    timeoutMs: TIMEOUT_MS,
    answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    allowPrivate: true,
  })
}

function judgeAnswer(publicUrl: string, status: number, code: string | undefined, findings: Findings): Finding {
  if (code === '000101') return findings.ok(`PUBLIC_URL ${publicUrl} reaches a gateway.`)
  if (code === '101008') {
    return findings.fault(
      `PUBLIC_URL ${publicUrl} reaches a gateway that takes the request for plain HTTP. List the proxy's address in TRUSTED_PROXIES, and make the proxy send X-Forwarded-Proto and X-Forwarded-For.`,
    )
  }
  return findings.warning(
    `PUBLIC_URL ${publicUrl} answers ${status}, unlike a gateway. Check the proxy's routes: POST …/open-api/v1/health must reach the gateway.`,
  )
}

function codeOf(body: Buffer): string | undefined {
  try {
    return (JSON.parse(body.toString()) as { code?: string }).code
  } catch {
    return undefined
  }
}

async function describeProcess(outbound: Outbound, metricsHost: string, metricsPort: number): Promise<string> {
  const host = metricsHost === '0.0.0.0' ? '127.0.0.1' : metricsHost === '::' ? '[::1]' : metricsHost
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${metricsPort}/readyz`
  const [timeoutMs, answerSizeMaxBytes] = [TIMEOUT_MS, ANSWER_SIZE_MAX_BYTES]
  const outcome = await outbound.request({ url, method: 'GET', timeoutMs, answerSizeMaxBytes, allowPrivate: true })
  if (outcome.kind === 'failed') return 'No gateway with this configuration is running on this machine.'
  return outcome.status === 200
    ? `A gateway is running on this machine and is ready (${url}).`
    : `A gateway is running on this machine but is not ready: ${outcome.body.toString().trim()} (${url}).`
}

export function checkProxies({ config }: CheckInput, findings: Findings): Finding[] {
  const { trustedProxies = [], tlsCertFile } = config
  const wide = trustedProxies.filter((block) => block.endsWith('/0'))
  if (wide.length > 0) {
    return [
      findings.fault(
        `TRUSTED_PROXIES contains ${wide.join(' and ')}: any caller could claim to use HTTPS and to have any address. List only your own proxies.`,
      ),
    ]
  }
  if (trustedProxies.length > 0) {
    return [findings.ok(`Forwarding headers are trusted from ${trustedProxies.join(', ')} only.`)]
  }
  return tlsCertFile === undefined ? [] : [findings.ok('No proxy is trusted: the gateway terminates TLS itself.')]
}

const DAY_MS = 86_400_000
const EXPIRES_SOON_MS = 14 * DAY_MS

export function checkCertificate({ config }: CheckInput, findings: Findings): Finding[] {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, publicUrl, consoleUrl } = config
  if (certFile === undefined || keyFile === undefined) return []
  const certificate = tryReadCertificate(certFile, keyFile)
  if (certificate === undefined) return [] // reported as a configuration fault
  const { startsAt, expiresAt, isFor, names, isSelfSigned } = certificate
  const [from, until] = [startsAt, expiresAt].map((time) => time.toISOString().slice(0, 10))
  const found: Finding[] = []
  const now = Date.now()
  if (startsAt.getTime() > now) {
    found.push(
      findings.fault(
        `The certificate is not valid before ${from}. Install a valid one, or correct this machine's clock.`,
      ),
    )
  } else if (expiresAt.getTime() <= now) {
    found.push(
      findings.fault(`The certificate expired on ${until}. Renew it; a running gateway will load the new one.`),
    )
  } else if (expiresAt.getTime() - now < EXPIRES_SOON_MS) {
    found.push(findings.warning(`The certificate expires on ${until}. Make sure that its renewal works.`))
  } else found.push(findings.ok(`The certificate matches its key and is valid until ${until}.`))
  if (isSelfSigned) {
    found.push(
      findings.warning(
        'The certificate is self-signed: browsers and dealers’ programs refuse it. Install one from a certificate authority.',
      ),
    )
  }
  const urls = { PUBLIC_URL: publicUrl, CONSOLE_URL: consoleUrl }
  for (const [variable, url] of Object.entries(urls)) {
    const host = url && new URL(url).hostname.replace(/^\[|\]$/g, '')
    if (!host || isFor(host)) continue
    found.push(
      findings.fault(
        `The certificate is for ${names}, not for ${host}, the host in ${variable}. Get one for that host.`,
      ),
    )
  }
  return found
}

function tryReadCertificate(certFile: string, keyFile: string) {
  try {
    return readCertificate({ certFile, keyFile })
  } catch {
    return undefined
  }
}

export async function checkMail({ config }: CheckInput, findings: Findings): Promise<Finding[]> {
  const { smtpUrl, deployment } = config
  if (smtpUrl === undefined) {
    if (deployment === 'local') return []
    return [findings.ok('No mail server is configured: alerts and invitations are shown on the console only.')]
  }
  const server = createMailServer(smtpUrl)
  const fault = await server.check()
  server.close()
  if (fault === undefined) return [findings.ok('Signed in to the mail server.')]
  return [
    findings.fault(
      `The mail server of SMTP_URL cannot be used: ${fault}. Correct SMTP_URL, or allow this machine to connect to it.`,
    ),
  ]
}
