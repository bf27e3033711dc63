import type { OutboundFailure } from '../../lib/outbound/outbound.ts'
import type { Es2plusClient } from './client.ts'

/** undefined: it works. Otherwise what is wrong, and where to look: name, connection, TLS, credentials or protocol. */
export async function testEs2plus(client: Es2plusClient): Promise<string | undefined> {
  const outcome = await client.probe()
  if (outcome.kind === 'failed') return `${SENTENCES[outcome.phase]}: ${outcome.message}.`
  const { status } = outcome
  if (status === 401 || status === 403)
    return `Credentials: the server does not accept our certificate (HTTP ${status}).`
  if (status === 404) return 'Protocol: there is no ES2+ at this url (HTTP 404); it ends before /gsma/rsp2/es2plus.'
  const executed = executionStatus(outcome.body)
  if (executed === undefined) return `Protocol: HTTP ${status}, but not an ES2+ answer.`
  const { reasonCode, message } = executed.statusCodeData ?? {}
  if (reasonCode === '1.1' || reasonCode === '1.2') {
    return `Credentials: functionRequesterIdentifier is not accepted (${reasonCode} ${message ?? ''}).`
  }
  return undefined // that it knows no such ICCID shows that it read and understood us
}

const SENTENCES: Record<OutboundFailure['phase'], string> = {
  url: 'The url is wrong',
  forbidden: 'The address is not allowed',
  dns: 'DNS: the name does not resolve',
  connect: 'Connection: nobody answers there',
  tls: 'TLS: the handshake failed; check ca, cert and key',
  sent: 'Protocol: the connection broke after the request was sent',
  'time-out': 'Connection: no answer in time',
}

function executionStatus(body: Buffer) {
  try {
    const answer = JSON.parse(body.toString()) as {
      header?: { functionExecutionStatus?: { statusCodeData?: { reasonCode?: string; message?: string } } }
    }
    return answer.header?.functionExecutionStatus
  } catch {
    return undefined
  }
}
