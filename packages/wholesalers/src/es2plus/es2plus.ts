import { X509Certificate } from 'node:crypto'
import type { OutboundFailure } from '@dealer-esim/lib/outbound/outbound.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { parseObject } from '#members.ts'
import type { CancelOutcome, SuppliedEsim, Supplier } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { type Es2plusClient, es2plusClient } from './client.ts'
import { DEFAULTS, type Es2plusConfig } from './es2plus-config.ts'
import { isGone, isNotExecuted, quoteOf, resultOf } from './outcome.ts'
import { createProgressStore, type Progress } from './progress.ts'
import { check, type Es2plusContext, type Es2plusDeps, messageOf, order, resume } from './purchase.ts'

/** DownloadOrder, ConfirmOrder and ReleaseProfile, or CancelOrder if one of the first two is refused. */
const CALLS_MAX = 3
const OVERHEAD_MS = 2_000

/**
 * An SM-DP+ with SGP.22 ES2+: DownloadOrder, ConfirmOrder with release, CancelOrder. DownloadOrder has no idempotency
 * key, so an unanswered one cannot be queried; with our own ICCID range we simply repeat it.
 */
export function es2plusSupplier(name: string, config: Es2plusConfig, deps: Es2plusDeps): Supplier {
  const client = es2plusClient(config, deps)
  const context: Es2plusContext = { client, store: createProgressStore(name, config, deps), config }
  return {
    name,
    type: 'es2plus',
    traits: {
      ...callTraits(config, DEFAULTS),
      perSecond: config.perSecond ?? null,
      timeoutMs: CALLS_MAX * (config.timeoutMs ?? DEFAULTS.timeoutMs) + OVERHEAD_MS,
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

/**
 * @returns undefined if it works, otherwise a message that identifies the faulty layer: name, connection, TLS, credentials
 * or protocol
 */
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
    return `Protocol: HTTP ${status}, but not an ES2+ answer${quoteOf(outcome.body)}.${hint}`
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

/**
 * Sends CancelOrder for an eSIM that was delivered or is an orphan. A repeat is safe: its matching id does not belong to
 * any other order. An SM-DP+ may answer a repeat after an executed cancellation as it answers for an installed profile, so
 * that answer is accepted only if the matching id was never shown.
 */
async function cancel(context: Es2plusContext, esim: SuppliedEsim): Promise<CancelOutcome> {
  const progress = await progressOf(context, esim)
  if (progress.step === 'CANCELLED') return { kind: 'cancelled' }
  const repeated = progress.step === 'CANCELLING'
  const before: Progress = { ...progress }
  if (!repeated && !(await context.store.advance(progress, { step: 'CANCELLING' }))) return OTHER_WORKER
  await failpoint('es2plus.before-cancel-order')
  const result = await context.client.cancelOrder({ iccid: esim.iccid, matchingId: esim.matchingId })
  await failpoint('es2plus.after-cancel-order')
  if (result.kind === 'done' || (repeated && !esim.shown && isGone(result))) {
    await context.store.advance(progress, { step: 'CANCELLED' })
    return { kind: 'cancelled' }
  }
  // If a first CancelOrder was not executed, nothing changed. A repeat may fail because the first one was executed. If the
  // matching id is gone, another worker may have cancelled concurrently: it found the step CANCELLING and sent CancelOrder too.
  if (repeated || isGone(result) || !isNotExecuted(result)) return { kind: 'unknown', message: messageOf(result) }
  await context.store.advance(progress, { step: before.step })
  if (result.kind === 'retry') return { kind: 'unknown', message: result.message }
  return { kind: 'refused', message: messageOf(result) }
}

/** The progress of this eSIM. If an operator recorded a different eSIM under the key, that eSIM has its own row. */
async function progressOf(context: Es2plusContext, esim: SuppliedEsim): Promise<Progress> {
  const ordered = await context.store.find(esim.key)
  if (ordered === undefined) return context.store.adopt(esim)
  return ordered.iccid === esim.iccid ? ordered : context.store.adopt({ ...esim, key: `${esim.key} ${esim.iccid}` })
}

const OTHER_WORKER: CancelOutcome = { kind: 'unknown', message: 'another worker is processing this order' }

/**
 * Describes a client certificate to an operator: subject, issuer, fingerprint and expiry. @param pem with its chain, if it
 * has one
 */
function describeCertificate(pem: string): string {
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
