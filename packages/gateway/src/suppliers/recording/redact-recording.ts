import { randomBytes } from 'node:crypto'
import { createPseudonyms } from './pseudonyms.ts'
import type { RecordedExchange } from './record-calls.ts'

/** An exchange in which secrets, eSIM codes and personal data have been replaced. */
export interface RedactedExchange {
  call: { callId: string; operation: string; arguments: unknown[] }
  request: { method: string; path: string; body?: unknown }
  /** Absent if the request was not answered. */
  answer?: { status: number; headers: Record<string, string>; body: unknown; isShortened?: true }
  failure?: { phase: string; sent: boolean }
}

/** Pure except for its random key: replaces sensitive values everywhere with pseudonyms of the same form. */
export function redactExchanges(
  exchanges: readonly RecordedExchange[],
  config: Record<string, unknown> = {},
): { config: Record<string, unknown>; exchanges: RedactedExchange[] } {
  const parsed = exchanges.map(parse)
  const found = new Set<string>()
  findIn(config, '', found)
  for (const exchange of parsed) findIn(exchange, '', found)
  for (const { path } of parsed.map(({ request }) => request)) findInPath(path, found)
  const pseudonymOf = createPseudonyms(randomBytes(32))
  // A value may contain another, so longer values come first.
  const values = [...found].sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
  const by = { found, values, pseudonymOf }
  return {
    config: replaceIn(config, '', by) as Record<string, unknown>,
    exchanges: parsed.map((exchange) => replaceIn(exchange, '', by) as RedactedExchange),
  }
}

function parse({ callId, operation, arguments: input, request, answer, failure }: RecordedExchange): RedactedExchange {
  const { method, path, body, contentType } = request
  return {
    call: { callId, operation, arguments: input },
    request: {
      method,
      path,
      ...(body === undefined
        ? {}
        : { body: contentType?.includes('urlencoded') ? Object.fromEntries(new URLSearchParams(body)) : jsonOr(body) }),
    },
    ...(answer && { answer: { ...answer, body: jsonOr(answer.body) } }),
    ...(failure && { failure }),
  }
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Compares member names in any spelling: `matchingId`, `matching_id` and `MATCHING_ID`. */
const normalise = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
const namesOf = (...lines: string[]) => new Set(lines.flatMap((line) => line.split(' ')).map(normalise))

const SECRET_PARTS = [
  ...namesOf('secret password token api_key access_key private_key authorization credential signature'),
]
const NO_SECRETS = namesOf('token_type signature_type')
/** Codes and numbers of eSIMs, and e-mail or host addresses. */
const CODES = namesOf(
  'iccid iccids imsi imsis eid eids msisdn pin pin1 pin2 puk puk1 puk2 esim_tran_no',
  'ac lpa lpa_string local_profile_assistant activation_code matching_id confirmation_code conf_code manual_code manual_activation_code',
  'smdp smdp_address smdp_fqdn smdp_plus_address qr_code qr_code_url qr_code_data qr_code_image qr_code_base64',
  'short_url share_link link links install_url apple_install_url android_install_url direct_apple_installation_url',
  'apple_installation_url android_installation_url activation_url kyc_url callback_url webhook_url ip ip_address',
)
const CONTACTS = namesOf('mail email email_address phone phone_number first_name last_name')
const PERSONS = namesOf(
  'mail email email_address phone phone_number mobile mobile_number first_name last_name surname full_name user_name',
  'customer_name contact_name contact_person holder_name address address1 address2 address3 addr1 addr2 street city post_code',
  'zip zip_code company company_name vat vat_number tax_id iban birth_date date_of_birth passport passport_number',
)
/** Members of an object about a person or company, recognised by `CONTACTS`. */
const CONTACT_NAMES = namesOf('name display_name title notes label')
const FULL_NAME = normalise('full_name')

function isSensitive(name: string): boolean {
  if (CODES.has(name) || PERSONS.has(name)) return true
  return SECRET_PARTS.some((part) => name.includes(part)) && !NO_SECRETS.has(name)
}

/** Collects the sensitive values in a JSON value. `name`: of the member that contains it. */
function findIn(value: unknown, name: string, found: Set<string>): void {
  if (typeof value === 'string') findInText(value, name, found)
  else if (typeof value === 'number') {
    if (isSensitive(name) || !(Number.isSafeInteger(value) || !Number.isInteger(value))) found.add(String(value))
  } else if (Array.isArray(value)) for (const row of value) findIn(row, name, found)
  else if (typeof value === 'object' && value !== null) findInObject(value as Record<string, unknown>, name, found)
}

function findInObject(object: Record<string, unknown>, parent: string, found: Set<string>): void {
  const isContact = Object.keys(object).some((name) => CONTACTS.has(normalise(name)))
  for (const [member, inner] of Object.entries(object)) {
    let name = normalise(member)
    // {"name": "ICCID", "value": "8999…"}
    if (name === 'value' && typeof object.name === 'string') name = normalise(object.name)
    else if (PERSONS.has(parent) || (isContact && CONTACT_NAMES.has(name))) name = FULL_NAME
    findIn(inner, name, found)
  }
}

/** What is sensitive in any text. If a pattern has a group, only the group is sensitive. */
const PATTERNS = [
  /1(?:\$|%24)([A-Za-z0-9.-]+)(?:\$|%24)/g, // the address in an activation code, LPA:1$smdp.example.com$CODE
  /1(?:\$|%24)[A-Za-z0-9.-]+(?:\$|%24)([A-Za-z0-9-]+)/g, // its matching id
  /(?<![\w.+-])[\w.+-]+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, // an e-mail address
  /https?:\/\/([^\s/:?#"'<>]+)/g, // the host of a URL
  /(?<=\/)(?=[a-z_-]{0,40}\d)([\w-]{6,200}(?:\.\w{1,10})?)(?![\w/.-])/gi, // its last part, if that contains a digit
  /(?<![\w.-])(?:[a-z0-9-]{1,63}\.){2,8}[a-z]{2,24}\b/gi, // a host
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/g, // IPv4
  /(?<![\w:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])/gi, // IPv6
  /\d{15,}F?/g, // ICCID, IMSI and EID
  /\+\d{8,15}\b/g, // a telephone number
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, // a UUID
  /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g, // a JSON web token
  /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])(?!\d{8}T\d)[A-Za-z0-9]{16,}/g, // an opaque identifier
  /[A-Za-z0-9+/]{64,}/g, // an image of a QR code
]
const STATE = /^[A-Z]{2,3}$/

function findInText(text: string, name: string, found: Set<string>): void {
  let hasPart = false
  for (const pattern of PATTERNS) {
    for (const [match, part = match] of text.matchAll(pattern)) {
      if (isMask(part)) continue
      found.add(part)
      hasPart = true
    }
  }
  if (text === '' || !isSensitive(name) || isMask(text) || STATE.test(text)) return
  if (/^https?:/.test(text) && URL.canParse(text)) findInLink(text, found)
  // An activation code is replaced part by part, so the form LPA:1$smdp.example.com$CODE stays.
  else if (!hasPart || !/^\S*1\$/.test(text)) found.add(text)
}

/** The address of a QR code or of a page about an eSIM gives access to the eSIM. */
function findInLink(text: string, found: Set<string>): void {
  const { pathname, searchParams } = new URL(text)
  for (const part of [...pathname.split('/'), ...searchParams.values()]) {
    if (part.length >= PART_LENGTH_MIN && !part.includes('$')) found.add(part)
  }
}

/** Secrets of the account are masked before they are recorded. */
function isMask(text: string): boolean {
  return text.startsWith('recorded-')
}

function findInPath(path: string, found: Set<string>): void {
  const { pathname, searchParams } = new URL(path, 'http://supplier.invalid')
  for (const part of pathname.split('/')) findInText(decode(part), '', found)
  for (const [name, value] of searchParams) findInText(value, normalise(name), found)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

interface Replacement {
  found: ReadonlySet<string>
  values: readonly string[]
  pseudonymOf(value: string): string
}

/** Shorter values are replaced only as whole texts: a PIN must not change parts of other texts. */
const PART_LENGTH_MIN = 6

function replaceIn(value: unknown, name: string, by: Replacement): unknown {
  if (typeof value === 'string') return name === 'path' ? replaceInPath(value, by) : replaceInText(value, by)
  if (typeof value === 'number') return by.found.has(String(value)) ? numberLike(value, by) : value
  if (Array.isArray(value)) return value.map((row) => replaceIn(row, name, by))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [replaceInText(member, by), replaceIn(inner, member, by)]),
  )
}

function numberLike(value: number, { pseudonymOf }: Replacement): number {
  const pseudonym = Number(pseudonymOf(BigInt(Math.trunc(value)).toString()))
  return Number.isNaN(pseudonym) ? 0 : pseudonym
}

function replaceInText(text: string, { found, values, pseudonymOf }: Replacement): string {
  if (found.has(text)) return pseudonymOf(text)
  // A replacement must not be replaced again, so it is first marked with characters that occur in no text.
  const marks: string[] = []
  let replaced = cleaned(text)
  for (const value of values) {
    if (value.length < PART_LENGTH_MIN) break
    if (!replaced.includes(value)) continue
    replaced = replaced.replaceAll(value, `\u0000${marks.length}\u0000`)
    marks.push(pseudonymOf(value))
  }
  return marks.length === 0 ? replaced : replaced.replaceAll(/\u0000(\d+)\u0000/g, (_, index) => marks[Number(index)]!)
}

/** PostgreSQL's JSON cannot store U+0000 or half of a surrogate pair. */
function cleaned(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').replaceAll(/\p{Surrogate}/gu, '\ufffd')
}

function replaceInPath(path: string, by: Replacement): string {
  const { pathname, searchParams } = new URL(path, 'http://supplier.invalid')
  const parts = pathname.split('/').map((part) => encodeURIComponent(replaceInText(decode(part), by)))
  const query = [...searchParams].map(([name, value]) => [name, replaceInText(value, by)])
  return parts.join('/') + (query.length === 0 ? '' : `?${new URLSearchParams(query)}`)
}
