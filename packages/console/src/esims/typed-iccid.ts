import { isIccid } from '@dealer-esim/contract'

/**
 * The ICCID in a typed or pasted text, such as `ICCID: 8985 2000 …`. Spaces, other text and the F padding do not belong to it.
 * @returns undefined if it is not a full ICCID: eSIMs are not found by a part of it
 */
export function parseTypedIccid(text: string): string | undefined {
  const digits = text.replaceAll(/\D/g, '')
  return isIccid(digits) ? digits : undefined
}
