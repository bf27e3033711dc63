import { createHmac } from 'node:crypto'
import { isEid, isIccid, luhnDigit, makeEid, passesLuhn } from '@dealer-esim/contract'

/**
 * Returns a function that replaces values with pseudonyms of the same form: equal values get equal pseudonyms, and adapters
 * treat value and pseudonym alike. A host becomes `host-1.example.com`, an ICCID becomes another one with a valid check
 * digit, and any other text one of the same length with different letters and digits.
 * @param key random, and discarded with the recording: a pseudonym reveals nothing about its value
 */
export function createPseudonyms(key: Buffer): (value: string) => string {
  const pseudonyms = new Map<string, string>()
  const taken = new Set<string>()
  const counts = { host: 0, address: 0, email: 0 }
  function create(value: string): string {
    if (EMAIL.test(value)) return `person-${++counts.email}@example.com`
    if (IPV4.test(value)) {
      counts.address += 1
      return `198.18.${counts.address >> 8}.${counts.address & 255}`
    }
    if (IPV6.test(value)) return `2001:db8::${(++counts.address).toString(16)}`
    if (HOST.test(value)) return `host-${++counts.host}.example.com`
    for (let attempt = 0; ; attempt++) {
      const pseudonym = likeness(value, createHmac('sha512', key).update(`${attempt}\n${value}`))
      // Short values have few possible pseudonyms of the same form.
      if (attempt === ATTEMPTS_MAX || (pseudonym !== value && !taken.has(pseudonym))) return pseudonym
    }
  }
  function pseudonymOf(value: string): string {
    // An ICCID counts as the same with and without padding.
    if (/^\d{18,19}F$/.test(value)) return `${pseudonymOf(value.slice(0, -1))}F`
    let pseudonym = pseudonyms.get(value)
    if (pseudonym === undefined) {
      pseudonym = create(value)
      pseudonyms.set(value, pseudonym)
      taken.add(pseudonym)
    }
    return pseudonym
  }
  return pseudonymOf
}

const ATTEMPTS_MAX = 20
const EMAIL = /^[^\s@]+@[^\s@]+$/
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/
const IPV6 = /^[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}$/i
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/i

/** Replaces each letter and digit of a value with another of its class. */
function likeness(value: string, hmac: ReturnType<typeof createHmac>): string {
  if (isIccid(value)) return iccidLike(value, hmac)
  if (isEid(value)) return makeEid(`89${substitute(value.slice(2, -2), hmac, 26)}`)
  const isHex = /^[0-9a-f-]+$/i.test(value) && /\d/.test(value) && value.length >= 16
  return substitute(value, hmac, isHex ? 6 : 26)
}

function substitute(value: string, hmac: ReturnType<typeof createHmac>, letters: number): string {
  const bytes = hmac.digest()
  return Array.from(value, (character, index) => {
    const byte = bytes[index % bytes.length]! + Math.floor(index / bytes.length) * 7
    if (/\d/.test(character)) return String(byte % 10)
    if (/\p{Lu}/u.test(character)) return String.fromCharCode(65 + (byte % letters))
    return /\p{L}/u.test(character) ? String.fromCharCode(97 + (byte % letters)) : character
  }).join('')
}

/** Begins with 8999, which is not assigned to anybody. */
function iccidLike(value: string, hmac: ReturnType<typeof createHmac>): string {
  const body = `8999${substitute(value.slice(4, -1), hmac, 26)}`
  const check = luhnDigit(body)
  return body + (passesLuhn(value) ? check : String((Number(check) + 1) % 10))
}
