import { createHmac } from 'node:crypto'
import type { OrderRequest } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Config } from '#platform/config/config.ts'

/** The person who gets an eSIM. Never in logs, events or plain columns. */
export interface Traveller {
  email: string
  name?: string | undefined
  language?: string | undefined
}

/** A traveller as it is stored. */
export interface SealedTraveller {
  /** By which the exact address is found. */
  recipientHash: Buffer
  traveller: Buffer
}

/** What an order says about handing its eSIMs over. */
export interface HandOver {
  /** By line; undefined: nothing is sent. */
  recipients: readonly (SealedTraveller | undefined)[]
  /** A brand that the request names. */
  brand: string | undefined
  isMailPossible: boolean
}

interface TravellerDeps {
  cipher: Pick<Cipher, 'encrypt'>
  linkKey: Buffer
}

/** How the lines of an order are handed over; undefined: they say nothing. */
export function handOverOf(
  deps: TravellerDeps & { config: Pick<Config, 'smtpUrl'> },
  tenantId: string,
  lines: OrderRequest['packageInfoList'],
): HandOver | undefined {
  if (lines.every(({ deliverTo, brand }) => deliverTo === undefined && brand === undefined)) return undefined
  return {
    recipients: lines.map(({ deliverTo }) => deliverTo && sealTraveller(deps, tenantId, deliverTo)),
    brand: lines.map(({ deliverTo, brand }) => deliverTo?.brand ?? brand).find((brand) => brand !== undefined),
    isMailPossible: deps.config.smtpUrl !== undefined,
  }
}

/** Encrypts a traveller for its dealer, as activation codes are. */
export function sealTraveller(deps: TravellerDeps, tenantId: string, traveller: Traveller): SealedTraveller {
  const { name, language } = traveller
  const email = traveller.email.trim()
  const text = JSON.stringify({ email, name, language })
  return { recipientHash: hashAddress(deps.linkKey, email), traveller: deps.cipher.encrypt(text, tenantId) }
}

/** @throws DecryptionFailed */
export function openTraveller(cipher: Pick<Cipher, 'decrypt'>, tenantId: string, sealed: Buffer): Traveller {
  return JSON.parse(cipher.decrypt(sealed, tenantId).toString()) as Traveller
}

/** Keyed, so that a known address finds nothing in a copy of the database. */
export function hashAddress(linkKey: Buffer, email: string): Buffer {
  return createHmac('sha256', linkKey)
    .update(`traveller\n${normalAddress(email)}`)
    .digest()
}

/** True if both are the same address: case makes no difference. */
export function isSameAddress(left: string, right: string): boolean {
  return normalAddress(left) === normalAddress(right)
}

function normalAddress(email: string): string {
  return email.trim().toLowerCase()
}
