import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import { iccidOf, isText, textOf } from './members.ts'
import type { DeliveredEsim } from './supplier.ts'

/** What a supplier says about an eSIM, in its own forms. */
interface EsimParts {
  iccid: unknown
  /** The whole activation code. Without a valid one, it is made from the address and the matching id. */
  code?: unknown
  /** A host name. Some suppliers send a URL. */
  smdpAddress?: unknown
  matchingId?: unknown
  confirmationCode?: unknown
  apn?: unknown
  msisdn?: unknown
  /** A link that opens the installation on an iPhone. It contains the whole activation code. */
  appleUrl?: unknown
  kycUrl?: unknown
}

/** Pure. @returns undefined if the ICCID or the activation code is unreadable */
export function deliveredEsim(parts: EsimParts): DeliveredEsim | undefined {
  const { smdpAddress, matchingId } = parts
  const iccid = iccidOf(parts)
  const made = isText(smdpAddress) && isText(matchingId) ? `LPA:1$${smdpAddress.trim()}$${matchingId}` : undefined
  const code = [parts.code, made, codeInLink(parts.appleUrl)]
    .filter(isText)
    .map(withoutScheme)
    .map(parseActivationCode)
    .find(isUsable)
  if (iccid === undefined || !code?.ok) return undefined
  const { smdpOid, confirmationCodeRequired, ...named } = code.value
  const hasMore = smdpOid !== undefined || confirmationCodeRequired
  const confirmationCode = digitsOf(parts.confirmationCode)
  const [apn, msisdn] = [textOf(parts.apn), digitsOf(parts.msisdn)]
  const kycUrl = pageOf(parts.kycUrl)
  return {
    iccid,
    ...named,
    ...(hasMore ? { ac: buildActivationCode(code.value) } : {}),
    ...(confirmationCode && { confirmationCode }),
    ...(apn && { apn }),
    ...(msisdn && { msisdn }),
    ...(kycUrl && { kycUrl }),
  }
}

/** `https://esimsetup.apple.com/esim_qrcode_provisioning?carddata=LPA:1$smdp.example.com$M-1` */
function codeInLink(link: unknown): string | undefined {
  const url = isText(link) ? URL.parse(link) : null
  return url?.searchParams.get('carddata') ?? undefined
}

const PAGE_LENGTH_MAX = 2_000

/** A page that a traveller may open. */
function pageOf(link: unknown): string | undefined {
  const url = isText(link) && link.length <= PAGE_LENGTH_MAX ? URL.parse(link) : null
  return url?.protocol === 'https:' && url.username === '' ? url.href : undefined
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
