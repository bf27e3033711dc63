import { padIccid, stripIccidPadding } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound, OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { DEFAULTS, type Es2plusConfig } from './es2plus-config.ts'
import { type AnswerRules, type Es2plusResult, resultOf } from './outcome.ts'

/** The functions that we call (SGP.22 §5.3.1 to §5.3.4). */
export interface Es2plusClient {
  downloadOrder(order: { iccid: string | null; profileType: string }): Promise<Es2plusResult>
  confirmOrder(order: { iccid: string; matchingId: string; chosen: boolean }): Promise<Es2plusResult>
  releaseProfile(order: { iccid: string; chosen: boolean }): Promise<Es2plusResult>
  cancelOrder(order: { iccid: string; matchingId: string }): Promise<Es2plusResult>
  /** The raw answer to a call that changes nothing, for `supplier test`. */
  probe(): Promise<OutboundOutcome>
}

const ANSWER_SIZE_MAX_BYTES = 64 * 1024
/** No real ICCID has this value. */
const IMPOSSIBLE_ICCID = '0000000000000000000'

export function es2plusClient(config: Es2plusConfig, deps: { outbound: Outbound; ids: Ids }): Es2plusClient {
  const base = `${config.url.replace(/(?<!\/)\/+$/, '')}/gsma/rsp2/es2plus`
  const version = (config.protocolVersion ?? DEFAULTS.protocolVersion).replace(/^v?/, 'v')
  const tls = {
    ...(config.ca === undefined ? {} : { ca: config.ca }),
    ...(config.cert === undefined ? {} : { cert: config.cert }),
    ...(config.key === undefined ? {} : { key: config.key }),
  }
  const formatIccid = (iccid: string) => (config.iccidPadding ? padIccid(iccid) : stripIccidPadding(iccid))

  function send(name: string, members: object, reuse: boolean): Promise<OutboundOutcome> {
    const header = {
      functionRequesterIdentifier: config.functionRequesterIdentifier,
      functionCallIdentifier: deps.ids.uuid(),
    }
    return deps.outbound.request({
      url: `${base}/${name}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-admin-protocol': `gsma/rsp/${version}` },
      body: JSON.stringify({ header, ...members }),
      timeoutMs: config.timeoutMs ?? DEFAULTS.timeoutMs,
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
      allowPrivate: true, // configured by an operator, and SM-DP+ servers are often in private networks
      reuse,
      ...(Object.keys(tls).length === 0 ? {} : { tls }),
    })
  }

  const { failedIsDefinite, answersWithoutHeader } = config
  function read(outcome: OutboundOutcome, iccidChosen: boolean, member?: AnswerRules['member']): Es2plusResult {
    return resultOf(outcome, { iccidChosen, failedIsDefinite, answersWithoutHeader, ...(member && { member }) })
  }

  return {
    async downloadOrder({ iccid, profileType }) {
      const members = iccid === null ? { profileType } : { iccid: formatIccid(iccid), profileType }
      // Without our own ICCID range an order cannot be repeated safely, so it gets a new connection: on a connection that
      // the server has just closed, it would be left in doubt.
      return read(await send('downloadOrder', members, iccid !== null), iccid !== null, 'iccid')
    },
    async confirmOrder({ iccid, matchingId, chosen }) {
      const releaseFlag = config.releaseWithConfirm !== false
      const members = { iccid: formatIccid(iccid), matchingId, releaseFlag }
      return read(await send('confirmOrder', members, true), chosen, 'matchingId')
    },
    async releaseProfile({ iccid, chosen }) {
      return read(await send('releaseProfile', { iccid: formatIccid(iccid) }, true), chosen)
    },
    async cancelOrder({ iccid, matchingId }) {
      const members = { iccid: formatIccid(iccid), matchingId, finalProfileStatusIndicator: 'Available' }
      return read(await send('cancelOrder', members, true), false)
    },
    probe: () => send('releaseProfile', { iccid: formatIccid(IMPOSSIBLE_ICCID) }, false),
  }
}
