import ipaddr from 'ipaddr.js'
import { readCertificate } from '../lib/process/certificate.ts'
import type { Values } from './variables.ts'

/** What concerns several variables, or one of them on some deployments. */
interface Rule {
  /** A rule whose variables cannot all be read has nothing to compare. */
  of: readonly (keyof Values)[]
  /** Sentences. */
  broken(values: Values): string[]
}

/** @returns a sentence for each rule that is broken, as far as the variables can be read */
export function brokenRules(values: Values, unreadable: ReadonlySet<string>): string[] {
  const judged = RULES.filter((rule) => !rule.of.some((key) => unreadable.has(key)))
  return judged.flatMap((rule) => rule.broken(values))
}

const RULES: readonly Rule[] = [
  {
    of: ['tlsCertFile', 'tlsKeyFile'],
    broken({ tlsCertFile: certFile, tlsKeyFile: keyFile }) {
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
    of: ['smtpUrl', 'mailFrom'],
    broken: ({ smtpUrl, mailFrom }) =>
      (smtpUrl === undefined) === (mailFrom === undefined)
        ? []
        : ['SMTP_URL and MAIL_FROM go together: set both or neither.'],
  },
  {
    of: ['deployment', 'host'],
    broken: ({ deployment, host }) =>
      deployment !== 'local' || isLoopback(host)
        ? []
        : [
            `HOST is ${host}, but a local deployment listens on loopback only. Set DEPLOYMENT to test or production to be reached from elsewhere.`,
          ],
  },
  {
    of: ['deployment', 'consoleHost'],
    broken: ({ deployment, consoleHost }) =>
      deployment !== 'local' || consoleHost === undefined || isLoopback(consoleHost)
        ? []
        : [`CONSOLE_HOST is ${consoleHost}, but a local deployment listens on loopback only.`],
  },
  {
    of: ['host', 'port', 'console', 'consoleHost', 'consolePort', 'metricsHost', 'metricsPort'],
    broken: (values) => samePorts(values),
  },
  httpsOnly('CONSOLE_URL', 'consoleUrl'),
  httpsOnly('PUBLIC_URL', 'publicUrl'),
  {
    of: ['deployment', 'tlsCertFile', 'trustedProxies'],
    broken: ({ deployment, tlsCertFile, trustedProxies }) =>
      deployment === 'local' || tlsCertFile !== undefined || trustedProxies.length > 0
        ? []
        : [
            `A ${deployment} deployment is reached by HTTPS only: set TLS_CERT_FILE and TLS_KEY_FILE, or name the proxies that end TLS in TRUSTED_PROXIES.`,
          ],
  },
]

const EVERYWHERE = ['0.0.0.0', '::']

/** Found here, before anything is done: the second of two listeners would fail after the database was migrated. */
function samePorts({ host, port, console, consoleHost, consolePort, metricsHost, metricsPort }: Values): string[] {
  const listeners = [
    { name: 'PORT', host, port },
    ...(console === 'off' ? [] : [{ name: 'CONSOLE_PORT', host: consoleHost ?? host, port: consolePort ?? 0 }]),
    { name: 'METRICS_PORT', host: metricsHost, port: metricsPort },
  ]
  return listeners.flatMap((one, i) =>
    listeners.slice(i + 1).flatMap((other) => {
      const collide = one.host === other.host || [one, other].some((listener) => EVERYWHERE.includes(listener.host))
      if (one.port === 0 || one.port !== other.port || !collide) return [] // 0 takes a free one
      return [`${one.name} and ${other.name} are both ${one.port}: give each a port of its own.`]
    }),
  )
}

function httpsOnly(name: string, key: 'consoleUrl' | 'publicUrl'): Rule {
  return {
    of: ['deployment', key],
    broken: (values) =>
      values.deployment !== 'local' && values[key]?.startsWith('http:')
        ? [`${name} begins with https:// on a ${values.deployment} deployment; it is “${values[key]}”.`]
        : [],
  }
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}
