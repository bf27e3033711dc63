import { isIccid } from '@dealer-esim/contract'

/**
 * The ICCID in a typed or pasted text, such as `ICCID: 8985 2000 …`. Spaces, other text and the F padding are not part of
 * it.
 * @returns undefined if it is not a full ICCID: eSIMs cannot be found by part of an ICCID
 */
export function parseTypedIccid(text: string): string | undefined {
  const digits = text.replaceAll(/\D/g, '')
  return isIccid(digits) ? digits : undefined
}

/** True for an ICCID without other text, such as `8985 2000 …F`: whatever else is typed may become an e-mail address. */
export function isOnlyIccid(text: string): boolean {
  return isIccid(text.replaceAll(/[\s-]/g, '').replace(/F{1,2}$/i, ''))
}
