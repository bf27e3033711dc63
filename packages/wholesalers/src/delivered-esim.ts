import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import { iccidOf, isText, textOf } from './members.ts'
import type { DeliveredEsim } from './supplier.ts'

/** What a supplier says of an eSIM, in its own forms. */
interface EsimParts {
  iccid: unknown
  /** The whole activation code. Without a valid one, address and matching id make it. */
  code?: unknown
  /** A host name. Some suppliers send a URL. */
  smdpAddress?: unknown
  matchingId?: unknown
  confirmationCode?: unknown
  apn?: unknown
  msisdn?: unknown
}

/** Pure. @returns undefined if the ICCID or the activation code is unreadable */
export function deliveredEsim(parts: EsimParts): DeliveredEsim | undefined {
  const { smdpAddress, matchingId } = parts
  const iccid = iccidOf(parts)
  const made = isText(smdpAddress) && isText(matchingId) ? `LPA:1$${smdpAddress.trim()}$${matchingId}` : undefined
  const code = [parts.code, made].filter(isText).map(withoutScheme).map(parseActivationCode).find(isUsable)
  if (iccid === undefined || !code?.ok) return undefined
  const { smdpOid, confirmationCodeRequired, ...named } = code.value
  const hasMore = smdpOid !== undefined || confirmationCodeRequired
  const confirmationCode = digitsOf(parts.confirmationCode)
  const [apn, msisdn] = [textOf(parts.apn), digitsOf(parts.msisdn)]
  return {
    iccid,
    ...named,
    ...(hasMore ? { ac: buildActivationCode(code.value) } : {}),
    ...(confirmationCode && { confirmationCode }),
    ...(apn && { apn }),
    ...(msisdn && { msisdn }),
  }
}

function isUsable(code: ReturnType<typeof parseActivationCode>): boolean {
  return code.ok && code.value.matchingId !== ''
}

/** `LPA:1$https://rsp.example.com/$M-1` becomes `LPA:1$rsp.example.com$M-1`. */
export function withoutScheme(code: string): string {
  return code.trim().replace(/^((?:LPA:)?1\$)(?:https?:\/\/)?([^$/?#\s]+)[^$]*/i, '$1$2')
}

/** A code or telephone number as text: JSON may have it as a number. */
function digitsOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textOf(value)
}
