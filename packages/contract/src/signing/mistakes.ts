import { BODY_SIZE_MAX_BYTES } from '#limits.ts'
import { webhookSecret } from './event-signing.ts'
import type { SignedParts } from './request-headers.ts'
import { type Body, concatenate, toHex, utf8 } from './request-signing.ts'
import { otherSpellings } from './serialisers.ts'

/** A request whose signature did not verify. */
export interface MismatchedRequest extends SignedParts {
  secret: string
  body: Body
  /** The signature as received: hex or, wrongly, Base64. */
  signature: string
  /** Set if it is known, to check whether it was signed too. */
  path?: string | undefined
}

export interface SigningMistake {
  id: MistakeId
  /** What exactly was done, such as the separator. */
  form: string
  /** The mistake, and what to do instead. */
  message: string
}

/** The answer when a signature does not match and findSigningMistake finds nothing. */
export const UNEXPLAINED_MISMATCH =
  'No single common mistake explains it: there are several differences, or it was signed with another AppSecret (reset since, or of another gateway), or the body here is not the one that was signed.'

/**
 * Explains a signature mismatch to somebody who has the secret: signs the request with each of the most common mistakes
 * (about 60 digests), and returns the one that produces the given signature. Returns undefined if the signature is correct,
 * or if no single mistake produces it. Bodies that no gateway accepts are not tried, which bounds the work.
 */
export async function findSigningMistake(request: MismatchedRequest): Promise<SigningMistake | undefined> {
  const given = readDigest(request.signature)
  const { secret, timestamp, requestId, appKey, body } = request
  if (given === undefined || concatenate('', body).length > BODY_SIZE_MAX_BYTES) return undefined
  const right = { key: utf8(secret), head: timestamp + requestId + appKey, body }
  const isRight = (await sign(right)) === given.hex
  if (isRight) return given.isBase64 ? describe('notHexHmacSha256', 'Base64') : undefined
  if (given.isBase64) return undefined
  for (const [id, form, changed] of [
    ...otherKeys(request),
    ...otherHeads(request),
    ...otherBodies(body),
    ...OTHER_HASHES,
  ])
    if ((await sign({ ...right, ...changed })) === given.hex) return describe(id, form)
  return undefined
}

export type MistakeId = keyof typeof MISTAKES

const PARTS = 'RT-Timestamp + RT-RequestID + RT-AccessCode + body'

const MISTAKES = {
  secretDecoded: ['The AppSecret was decoded first', 'Use the UTF-8 bytes of its text as the key.'],
  secretNotTrimmed: ['The AppSecret was read with white space at its end', 'Trim it when you read it.'],
  secretQuoted: [
    'The AppSecret was read with quotes around it',
    'Remove them: not every program that reads a file of variables does.',
  ],
  otherKey: ['The key was not the AppSecret itself', 'Sign requests with the AppSecret as the console shows it.'],
  separated: ['The signed parts were joined with a separator', `Sign ${PARTS}, with nothing between.`],
  otherOrder: ['The signed parts were joined in another order', `Sign ${PARTS}, in this order.`],
  partLeftOut: ['A header was left out of the signed text', `Sign ${PARTS}.`],
  headerRewritten: ['The signed text of a header is not what was sent', 'Sign each header exactly as you send it.'],
  pathSigned: ['The path was signed too', `Sign ${PARTS} only.`],
  bodyLeftOut: ['The body that was sent was not signed', 'Sign the raw body, {} where there are no parameters.'],
  lineBreaksChanged: [
    'The signed body differs from this one in its line breaks or byte-order mark',
    'Sign and send the same bytes. If only the copy of the body given here was changed, the request itself is correct.',
  ],
  serialisedAgain: [
    'The body was serialised again between signing and sending',
    'Serialise it once, then sign and send the same bytes.',
  ],
  notHexHmacSha256: ['The signature is not an HMAC-SHA256 in hex', 'Send the HMAC-SHA256 as 64 hex digits.'],
} as const

function describe(id: MistakeId, form: string): SigningMistake {
  const [what, remedy] = MISTAKES[id]
  return { id, form, message: `${what} (${form}). ${remedy}` }
}

interface Signing {
  key: Uint8Array<ArrayBuffer>
  /** The text that is signed before the body. */
  head: string
  body: Body
  /** The hash by its name in Web Crypto; SHA-256 by default. */
  hash?: 'SHA-1' | 'SHA-512'
  /** Hashes the text with the key at its end instead of making an HMAC. */
  plain?: boolean
}

/** A possible mistake: its id, its name in the message, and the changed part of the signing. */
type Variant = [id: MistakeId, form: string, changed: Partial<Signing>]

const OTHER_HASHES: Variant[] = [
  ['notHexHmacSha256', 'SHA-1', { hash: 'SHA-1' }],
  ['notHexHmacSha256', 'SHA-512', { hash: 'SHA-512' }],
  ['notHexHmacSha256', 'a plain SHA-256 with the secret at the end', { plain: true }],
]

function otherKeys({ secret, appKey }: MismatchedRequest): Variant[] {
  const decoded = fromBase64(secret)
  const quoted = /^(["'])(.*)\1$/.exec(secret)?.[2]
  return [
    ...(decoded ? [['secretDecoded', 'from Base64', { key: decoded }] satisfies Variant] : []),
    ['secretNotTrimmed', 'a line break', { key: utf8(`${secret}\n`) }],
    ['secretNotTrimmed', 'a line break', { key: utf8(`${secret}\r\n`) }],
    ['secretNotTrimmed', 'a space', { key: utf8(`${secret} `) }],
    ['secretQuoted', '"', { key: utf8(`"${secret}"`) }],
    ['secretQuoted', "'", { key: utf8(`'${secret}'`) }],
    ...(quoted ? [['secretQuoted', 'the AppSecret given here has them', { key: utf8(quoted) }] satisfies Variant] : []),
    ['otherKey', 'the AppKey', { key: utf8(appKey) }],
    ['otherKey', 'the whsec_ form, for Standard Webhooks libraries only', { key: utf8(webhookSecret(secret)) }],
  ]
}

const SEPARATORS = { 'line breaks': '\n', '&': '&', commas: ',', dots: '.', colons: ':', '|': '|', spaces: ' ' }

function otherHeads({ timestamp, requestId, appKey, path }: MismatchedRequest): Variant[] {
  return [
    ...Object.entries(SEPARATORS).map(([form, separator]): Variant => {
      return ['separated', form, { head: [timestamp, requestId, appKey, ''].join(separator) }]
    }),
    ['otherOrder', 'the AppKey before the RequestID', { head: timestamp + appKey + requestId }],
    ['otherOrder', 'the RequestID before the timestamp', { head: requestId + timestamp + appKey }],
    ['otherOrder', 'the AppKey first', { head: appKey + requestId + timestamp }],
    ['otherOrder', 'the AppKey first', { head: appKey + timestamp + requestId }],
    ['otherOrder', 'the RequestID first', { head: requestId + appKey + timestamp }],
    ['partLeftOut', 'RT-AccessCode', { head: timestamp + requestId }],
    ['partLeftOut', 'RT-RequestID', { head: timestamp + appKey }],
    ['headerRewritten', 'the timestamp in seconds', { head: timestamp.slice(0, 10) + requestId + appKey }],
    ['headerRewritten', 'the RequestID in lower case', { head: timestamp + requestId.toLowerCase() + appKey }],
    ['headerRewritten', 'the RequestID in upper case', { head: timestamp + requestId.toUpperCase() + appKey }],
    ['headerRewritten', 'the RequestID without hyphens', { head: timestamp + requestId.replaceAll('-', '') + appKey }],
    ['pathSigned', 'after the AppKey', { head: timestamp + requestId + appKey + (path ?? '') }],
  ]
}

function otherBodies(sent: Body): Variant[] {
  const text = typeof sent === 'string' ? sent : decoder.decode(sent)
  const bodies: [MistakeId, form: string, body: string][] = [
    ['lineBreaksChanged', 'no line break at its end', text.replace(/\r?\n$/, '')],
    ['lineBreaksChanged', 'a line break at its end, as echo adds it', `${text}\n`],
    ['lineBreaksChanged', 'LF for CRLF', text.replaceAll('\r\n', '\n')],
    ['lineBreaksChanged', 'CRLF for LF', text.replace(/\r?\n/g, '\r\n')],
    ['lineBreaksChanged', 'no byte-order mark', text.replace(/^\ufeff/, '')],
    ['bodyLeftOut', 'nothing in its place', ''],
    ['bodyLeftOut', '{} in its place', '{}'],
    ...otherSpellings(text).map(([form, body]): [MistakeId, string, string] => ['serialisedAgain', form, body]),
  ]
  return bodies.map(([id, form, body]) => [id, form, { body }])
}

/** Keeps the byte-order mark. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The digest in lower-case hex. Web Crypto rejects an empty key, and nobody signs with one. */
async function sign({ key, head, body, hash, plain }: Signing): Promise<string> {
  if (key.length === 0) return ''
  const text = concatenate(head, body)
  if (plain) return hex(await crypto.subtle.digest('SHA-256', concatenate(text, key)))
  const algorithm = { name: 'HMAC', hash: hash ?? 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return hex(await crypto.subtle.sign('HMAC', imported, text))
}

function hex(bytes: ArrayBuffer): string {
  return toHex(new Uint8Array(bytes))
}

/** Hex first, because 64 hex digits could also be valid Base64. */
function readDigest(signature: string): { hex: string; isBase64: boolean } | undefined {
  const text = signature.trim()
  if (/^[0-9a-f]+$/i.test(text)) return { hex: text.toLowerCase(), isBase64: false }
  const bytes = fromBase64(text)
  return bytes && { hex: toHex(bytes), isBase64: true }
}

/** Accepts both alphabets, padded or not. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
