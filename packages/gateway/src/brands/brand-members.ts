import { ACCENT_PATTERN, EMAIL_LENGTH_MAX } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static, type TSchema } from 'typebox'
import { mailAddress } from '#platform/config/parsers.ts'
import type { BrandSettings } from './brand-settings.ts'

/** As many as a reader of a footer looks at: terms, privacy, legal notice, and two more. */
const LEGAL_LINKS_MAX = 5
const TEXTS_MAX = 100
const TEXT_LENGTH_MAX = 500
const URL_LENGTH_MAX = 300
const LANGUAGE_LENGTH_MAX = 35

/**
 * Control characters, line separators, and characters that turn the direction of what follows: `Lotus\u202Eten.live`. The range
 * begins one before U+2028, because generators of clients write its ends as they are, and that one ends a line of code.
 */
const PLAIN_LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2027-\\u202e\\u2066-\\u2069]*$'
const PLAIN_TEXT = '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u2027-\\u202e\\u2066-\\u2069]*$'

const optional = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: PLAIN_LINE })
const url = () =>
  Type.String({
    maxLength: URL_LENGTH_MAX,
    pattern: PLAIN_LINE,
    description: 'Begins with https://, without a password',
  })

/** What people set of a brand, on the console and in a file. A member that is null or absent is not set. */
export const brandMembers = {
  name: line(100),
  accent: optional(Type.String({ pattern: ACCENT_PATTERN, description: 'Such as #f5b800' })),
  supportEmail: optional(Type.String({ maxLength: EMAIL_LENGTH_MAX })),
  supportPhone: optional(
    Type.String({ pattern: '^\\+?[0-9][0-9 ().\\/-]{2,38}$', description: 'Such as +44 20 7946 0100' }),
  ),
  supportHours: optional(line(100)),
  legalLinks: optional(
    Type.Array(Type.Object({ label: line(40), url: url() }, { additionalProperties: false }), {
      maxItems: LEGAL_LINKS_MAX,
    }),
  ),
  topUpUrl: optional(url()),
  language: optional(Type.String({ maxLength: LANGUAGE_LENGTH_MAX, description: 'BCP 47, such as zh-Hans' })),
  senderName: optional(line(100)),
  replyTo: optional(Type.String({ maxLength: EMAIL_LENGTH_MAX })),
  texts: optional(
    Type.Record(
      Type.String({ pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$' }),
      Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, pattern: PLAIN_TEXT }),
      { maxProperties: TEXTS_MAX, additionalProperties: false },
    ),
  ),
}

const brandInput = Type.Object(brandMembers)
export type BrandInput = Static<typeof brandInput>

/**
 * Checks what a schema cannot, and leaves out what is not set. Spaces around texts are removed.
 * @throws Refusal with the fault of each member
 */
export function checkBrand(input: BrandInput): BrandSettings {
  const fields: Record<string, string> = {}
  const settings: BrandSettings = { name: input.name.trim() }
  if (settings.name === '') fields.name = 'Enter the name under which you sell.'
  for (const member of ['accent', 'supportPhone', 'supportHours', 'senderName'] as const) {
    const value = input[member]?.trim()
    if (value) settings[member] = value
  }
  for (const member of ['supportEmail', 'replyTo'] as const) {
    const value = input[member]?.trim()
    if (!value) continue
    if (isPlainAddress(value)) settings[member] = value
    else fields[member] = 'Enter one address, such as help@example.com.'
  }
  const topUpUrl = input.topUpUrl?.trim()
  if (topUpUrl && isSafeUrl(topUpUrl)) settings.topUpUrl = topUpUrl
  else if (topUpUrl) fields.topUpUrl = URL_FAULT
  const links = (input.legalLinks ?? []).map((link) => ({ label: link.label.trim(), url: link.url.trim() }))
  for (const [index, link] of links.entries()) {
    if (link.label === '') fields[`legalLinks.${index}.label`] = 'Name the link, such as Terms.'
    if (!isSafeUrl(link.url)) fields[`legalLinks.${index}.url`] = URL_FAULT
  }
  if (links.length > 0) settings.legalLinks = links
  const language = input.language?.trim()
  if (language && isKnownLanguage(language)) settings.language = language
  else if (language) fields.language = 'Enter a language tag, such as de or zh-Hans.'
  const texts = Object.entries(input.texts ?? {})
  if (texts.length > 0) settings.texts = Object.fromEntries(texts)
  const [fault] = Object.values(fields)
  if (fault !== undefined) throw new Refusal(422, 'SETTING_INVALID', fault, { fields })
  return settings
}

const URL_FAULT = 'Enter an address that begins with https://, without a user name or password.'

/** A link that a page may offer to strangers: no script, no plain HTTP, no user name that looks like a host. */
function isSafeUrl(text: string): boolean {
  if (/[\s\\"'<>]/.test(text)) return false
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  return parsed?.protocol === 'https:' && parsed.username === '' && parsed.password === ''
}

function isPlainAddress(text: string): boolean {
  try {
    return mailAddress(text) === text && !/[<>,;:"()[\]\\\s]/.test(text)
  } catch {
    return false
  }
}

/** The tag must be one that the runtime formats dates for. */
function isKnownLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}
