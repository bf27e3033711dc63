import { createHmac } from 'node:crypto'
import type { OrderRequest } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { BrandSource } from '#brands/brand-source.ts'
import { listUnknownBrands } from '#brands/list-brands.ts'
import type { Config } from '#platform/config/config.ts'
import type { PackageLine } from './order-item.ts'

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
  lines: readonly LineHandOver[]
  /** A brand that the request names and the dealer does not have. */
  unknownBrand: string | undefined
  isMailPossible: boolean
}

interface LineHandOver {
  /** undefined: nothing is sent. */
  recipient: SealedTraveller | undefined
  brand: string | undefined
  language: string | undefined
}

interface TravellerDeps {
  cipher: Pick<Cipher, 'encrypt'>
  linkKey: Buffer
}

/** How the lines of an order are handed over; undefined: they say nothing. */
export async function handOverOf(
  deps: TravellerDeps & BrandSource & { config: MailConfig },
  tenantId: string,
  requested: OrderRequest['packageInfoList'],
): Promise<HandOver | undefined> {
  const lines = requested.map(({ deliverTo, brand, language }) => ({
    recipient: deliverTo && sealTraveller(deps, tenantId, deliverTo),
    brand: deliverTo?.brand ?? brand,
    language: deliverTo?.language ?? language,
  }))
  if (lines.every((line) => Object.values(line).every((value) => value === undefined))) return undefined
  const named = requested.flatMap(({ deliverTo, brand }) => [deliverTo?.brand ?? [], brand ?? []].flat())
  const [unknownBrand] = await listUnknownBrands(deps, tenantId, named)
  return { lines, unknownBrand, isMailPossible: isMailPossible(deps.config) }
}

export type MailConfig = Pick<Config, 'smtpUrl'> & Partial<Pick<Config, 'mode'>>

/** The mails of a test twin are never sent: they are kept, and shown in the portal. */
export function isMailPossible({ smtpUrl, mode }: MailConfig): boolean {
  return smtpUrl !== undefined || mode === 'TEST'
}

/** The lines of an order, with what they say about the pages of their eSIMs. */
export function withHandOver(lines: PackageLine[], handOver: HandOver | undefined): PackageLine[] {
  if (handOver === undefined) return lines
  return lines.map((line, index) => {
    const { brand, language } = handOver.lines[index]!
    return { ...line, ...(brand !== undefined && { brand }), ...(language !== undefined && { language }) }
  })
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
