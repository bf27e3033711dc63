import type { OutboundFailure } from '../../lib/outbound/outbound.ts'
import { parseObject } from '../members.ts'
import type { Supplier } from '../supplier.ts'
import { cancel } from './cancel.ts'
import { describeCertificate } from './certificate.ts'
import type { Es2plusClient } from './client.ts'
import { es2plusClient, TIMEOUT_MS } from './client.ts'
import type { Es2plusConfig } from './config.ts'
import { resultOf } from './outcome.ts'
import { createProgressStore } from './progress.ts'
import { check, type Es2plusContext, type Es2plusDeps, order, resume } from './purchase.ts'

const CONCURRENCY = 16
const GRACE_MS = 60_000
const GIVE_UP_AFTER_MS = 30 * 60_000
/** DownloadOrder, ConfirmOrder and ReleaseProfile, or CancelOrder if one of the first two is refused. */
const CALLS_MAX = 3
const OVERHEAD_MS = 2_000

/**
 * An SM-DP+ with SGP.22 ES2+: DownloadOrder, ConfirmOrder with release, CancelOrder. DownloadOrder has no idempotency
 * key, so an unanswered one cannot be queried; with an ICCID range of ours it is simply repeated.
 */
export function es2plusSupplier(name: string, config: Es2plusConfig, deps: Es2plusDeps): Supplier {
  const client = es2plusClient(config, deps)
  const context: Es2plusContext = { client, store: createProgressStore(name, config, deps), config }
  return {
    name,
    type: 'es2plus',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? CONCURRENCY,
      perSecond: config.perSecond ?? null,
      timeoutMs: CALLS_MAX * (config.timeoutMs ?? TIMEOUT_MS) + OVERHEAD_MS,
      graceMs: config.settlesMs ?? GRACE_MS,
      giveUpAfterMs: config.giveUpAfterMs ?? GIVE_UP_AFTER_MS,
      queryBuys: true,
    },
    order: (requests) => Promise.all(requests.map((request) => order(context, request))),
    query: (requests, purpose) =>
      Promise.all(requests.map((request) => (purpose === 'RESUME' ? resume : check)(context, request))),
    cancel: (esim) => cancel(context, esim),
    test: () => testEs2plus(client, config),
    eventSenders: {
      certificates: (config.notices?.certificates ?? []).map((print) => print.replaceAll(':', '').toLowerCase()),
      addresses: config.notices?.addresses ?? [],
      extraPoints: config.notices?.extraPoints === true,
    },
  }
}

/** undefined: it works. Otherwise a message that names the layer at fault: name, connection, TLS, credentials or protocol. */
async function testEs2plus(
  client: Es2plusClient,
  { cert, failedIsDefinite, answersWithoutHeader }: Es2plusConfig,
): Promise<string | undefined> {
  const outcome = await client.probe()
  if (outcome.kind === 'failed') return failureMessage(outcome, cert)
  const { status } = outcome
  if (status === 401 || status === 403)
    return `Credentials: the server does not accept ${ourCertificate(cert)} (HTTP ${status}).`
  if (status === 404) return 'Protocol: no ES2+ at this url (HTTP 404). Give the url without /gsma/rsp2/es2plus.'
  const result = resultOf(outcome, { iccidChosen: false, failedIsDefinite, answersWithoutHeader })
  if (result.kind === 'done') return undefined
  const isAnswer = status < 400 && (result.kind === 'retry' || result.code !== undefined)
  if (!isAnswer) {
    const isBare = !answersWithoutHeader && status === 200 && parseObject(outcome.body.toString()) !== undefined
    const hint = isBare ? ' If its answers have no header, set answersWithoutHeader.' : ''
    return `Protocol: HTTP ${status}, but not an ES2+ answer.${hint}`
  }
  const reason = 'code' in result ? result.code?.split('/')[1] : undefined
  if (reason === '1.1' || reason === '1.2') {
    return `Credentials: functionRequesterIdentifier is not accepted (${result.message}).`
  }
  return undefined // an error about the unknown ICCID shows that it accepted the request
}

function failureMessage({ phase, message, certificateRefused }: OutboundFailure, cert: string | undefined): string {
  if (certificateRefused && cert === undefined) {
    return `TLS: the server requires a client certificate; set cert and key: ${message}.`
  }
  if (certificateRefused) return `TLS: the server does not accept ${ourCertificate(cert)}: ${message}.`
  const said = `${FAILURES[phase]}: ${message}.`
  // Some servers close the connection without saying why.
  return phase === 'sent' ? `${said} Perhaps the server does not accept ${ourCertificate(cert)}.` : said
}

function ourCertificate(cert: string | undefined): string {
  return cert === undefined
    ? 'a caller without a client certificate'
    : `our client certificate (${describeCertificate(cert)})`
}

const FAILURES: Record<OutboundFailure['phase'], string> = {
  url: 'The url is wrong',
  forbidden: 'The address is not allowed',
  dns: 'DNS: the name does not resolve',
  connect: 'Connection: the server does not answer',
  tls: 'TLS: the handshake failed; check ca, cert and key',
  sent: 'Protocol: the connection broke after the request was sent',
  'time-out': 'Connection: the answer took too long',
}
