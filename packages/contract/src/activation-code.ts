/** The parts of an activation code (SGP.22 §4.1). */
export interface ActivationCode {
  /** Host name of the SM-DP+ server, with a port on test systems. */
  smdpAddress: string
  /** If empty, the server finds the profile by the EID of the device. */
  matchingId: string
  /** Identifies the server beyond its host name. */
  smdpOid?: string
  /** The device asks for a confirmation code at installation. */
  confirmationCodeRequired: boolean
}

export type ParsedActivationCode = { ok: true; value: ActivationCode } | { ok: false; reason: string }

/** `LPA:1$address$matchingId`, then `$$1` or `$oid$1` if a confirmation code is required. */
export function buildActivationCode(code: ActivationCode): string {
  const { smdpAddress, matchingId, smdpOid = '', confirmationCodeRequired } = code
  const base = `LPA:1$${smdpAddress}$${matchingId}`
  if (confirmationCodeRequired) return `${base}$${smdpOid}$1`
  return smdpOid === '' ? base : `${base}$${smdpOid}`
}

/** Accepts the forms that suppliers send: with or without `LPA:`, in either case, with surrounding white space. */
export function parseActivationCode(text: string): ParsedActivationCode {
  const trimmed = text.trim()
  if (trimmed.length > LENGTH_MAX) return refuse(`The activation code is longer than ${LENGTH_MAX} characters.`)
  const parts = trimmed.replace(/^LPA:/i, '').split('$')
  const [format, smdpAddress = '', matchingId = '', smdpOid = '', flag = ''] = parts
  if (format !== '1') return refuse('The activation code must start with LPA:1$.')
  if (parts.length < 3 || parts.length > 5)
    return refuse('The activation code must be LPA:1$<SM-DP+ address>$<matching id>, optionally followed by $<oid>$1.')
  if (!ADDRESS.test(smdpAddress)) return refuse('The SM-DP+ address is not a host name.')
  if (!MATCHING_ID.test(matchingId))
    return refuse('The matching id contains spaces or characters that are not allowed.')
  if (smdpOid !== '' && !OID.test(smdpOid)) return refuse('The object identifier must be numbers joined by dots.')
  if (flag !== '' && flag !== '1')
    return refuse('The last part must be 1 if a confirmation code is required, and must be absent otherwise.')
  const value: ActivationCode = { smdpAddress, matchingId, confirmationCodeRequired: flag === '1' }
  if (smdpOid !== '') value.smdpOid = smdpOid
  return { ok: true, value }
}

/** Opens the installation on iOS 17.4 and later. */
export function appleInstallUrl(activationCode: string): string {
  return `https://esimsetup.apple.com/esim_qrcode_provisioning?carddata=${encodeURIComponent(activationCode)}`
}

/** Opens the installation on Android. */
export function androidInstallUrl(activationCode: string): string {
  return `https://esimsetup.android.com/esim_qrcode_provisioning?carddata=${encodeURIComponent(activationCode)}`
}

/** The longest text that fits the QR code (SGP.22 §4.1). */
const LENGTH_MAX = 255
const ADDRESS = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:\d{1,5})?$/
/** The standard allows capitals, digits and hyphens; suppliers also use other visible characters. */
const MATCHING_ID = /^[!-#%-~]*$/
const OID = /^\d+(\.\d+)*$/

function refuse(reason: string): ParsedActivationCode {
  return { ok: false, reason }
}
