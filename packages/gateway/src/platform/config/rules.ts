import { readCertificate } from '@dealer-esim/lib/process/certificate.ts'
import ipaddr from 'ipaddr.js'
import type { Values } from './variables.ts'

/** A rule about several variables, or about one variable in some deployments. */
interface Rule {
  /** The rule is skipped if any of these variables could not be read. */
  variables: readonly (keyof Values)[]
  /** Messages; none if the rule holds. */
  check(values: Values): string[]
}

/** Returns a message for each broken rule, as far as the variables can be read. */
export function findBrokenRules(values: Values, unreadable: ReadonlySet<string>): string[] {
  const checked = RULES.filter((rule) => !rule.variables.some((key) => unreadable.has(key)))
  return checked.flatMap((rule) => rule.check(values))
}

const RULES: readonly Rule[] = [
  {
    variables: ['tlsCertFile', 'tlsKeyFile'],
    check({ tlsCertFile: certFile, tlsKeyFile: keyFile }) {
      if (certFile === undefined && keyFile === undefined) return []
      if (certFile === undefined || keyFile === undefined) {
        return ['TLS_CERT_FILE and TLS_KEY_FILE go together: set both or neither.']
      }
      try {
        readCertificate({ certFile, keyFile })
        return []
      } catch (error) {
        return [`TLS_CERT_FILE and TLS_KEY_FILE: ${(error as Error).message}`]
      }
    },
  },
  {
    variables: ['smtpUrl', 'mailFrom'],
    check: ({ smtpUrl, mailFrom }) =>
      (smtpUrl === undefined) === (mailFrom === undefined)
        ? []
        : ['SMTP_URL and MAIL_FROM go together: set both or neither.'],
  },
  {
    variables: ['oidcIssuer', 'oidcClientId', 'oidcClientSecretFile', 'oidcDomains', 'oidcPasswords'],
    check: (values) => brokenProviderRules(values),
  },
  {
    variables: ['deployment', 'oidcIssuer'],
    check: ({ deployment, oidcIssuer }) =>
      deployment !== 'local' && oidcIssuer?.startsWith('http:')
        ? [`OIDC_ISSUER must begin with https:// on a ${deployment} deployment; it is “${oidcIssuer}”.`]
        : [],
  },
  {
    variables: ['deployment', 'host'],
    check: ({ deployment, host }) =>
      deployment !== 'local' || isLoopback(host)
        ? []
        : [
            `HOST is ${host}, but a local deployment listens on loopback only. Set DEPLOYMENT to test or production to serve other machines.`,
          ],
  },
  {
    variables: ['deployment', 'consoleHost'],
    check: ({ deployment, consoleHost }) =>
      deployment !== 'local' || consoleHost === undefined || isLoopback(consoleHost)
        ? []
        : [`CONSOLE_HOST is ${consoleHost}, but a local deployment listens on loopback only.`],
  },
  {
    variables: ['host', 'port', 'console', 'consoleHost', 'consolePort', 'metricsHost', 'metricsPort'],
    check: (values) => samePorts(values),
  },
  httpsOnly('CONSOLE_URL', 'consoleUrl'),
  httpsOnly('PUBLIC_URL', 'publicUrl'),
  {
    variables: ['deployment', 'tlsCertFile', 'trustedProxies'],
    check: ({ deployment, tlsCertFile, trustedProxies }) =>
      deployment === 'local' || tlsCertFile !== undefined || trustedProxies.length > 0
        ? []
        : [
            `A ${deployment} deployment requires HTTPS: set TLS_CERT_FILE and TLS_KEY_FILE, or list the proxies that terminate TLS in TRUSTED_PROXIES.`,
          ],
  },
]

function brokenProviderRules(values: Values): string[] {
  const { oidcIssuer, oidcClientId, oidcClientSecretFile, oidcDomains, oidcPasswords } = values
  const given = [oidcIssuer, oidcClientId, oidcClientSecretFile].filter((value) => value !== undefined).length
  if (given !== 0 && given !== 3)
    return ['OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET_FILE go together: set all or none.']
  if (oidcPasswords === 'off' && (oidcIssuer === undefined || oidcDomains.length === 0))
    return ['OIDC_PASSWORDS=off applies to the people of OIDC_DOMAINS: set OIDC_ISSUER and OIDC_DOMAINS too.']
  return []
}

const EVERYWHERE = ['0.0.0.0', '::']

/**
 * Checks ports before the start, because otherwise the second listener would fail only after the database had been
 * migrated.
 */
function samePorts({ host, port, console, consoleHost, consolePort, metricsHost, metricsPort }: Values): string[] {
  const listeners = [
    { name: 'PORT', host, port },
    ...(console === 'off' ? [] : [{ name: 'CONSOLE_PORT', host: consoleHost ?? host, port: consolePort ?? 0 }]),
    { name: 'METRICS_PORT', host: metricsHost, port: metricsPort },
  ]
  return listeners.flatMap((one, i) =>
    listeners.slice(i + 1).flatMap((other) => {
      const collide = one.host === other.host || [one, other].some((listener) => EVERYWHERE.includes(listener.host))
      if (one.port === 0 || one.port !== other.port || !collide) return [] // 0: the system chooses a free port
      return [`${one.name} and ${other.name} are both ${one.port}: give each its own port.`]
    }),
  )
}

function httpsOnly(name: string, key: 'consoleUrl' | 'publicUrl'): Rule {
  return {
    variables: ['deployment', key],
    check: (values) =>
      values.deployment !== 'local' && values[key]?.startsWith('http:')
        ? [`${name} must begin with https:// on a ${values.deployment} deployment; it is “${values[key]}”.`]
        : [],
  }
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}
