import type { RequestHeaders } from '@dealer-esim/contract'
import { say, t } from './strings/index.ts'

interface Attempt {
  /** What is signed, before the body. */
  head?: string
  body?: string
  key?: Uint8Array<ArrayBuffer>
  words: string
}

const encoder = new TextEncoder()

/**
 * Why a signature does not match: the usual mistakes are made on purpose, one at a time, until one of them gives the
 * signature at hand.
 */
export async function explainMismatch(headers: RequestHeaders, secret: string, body: string): Promise<string> {
  const given = headers.signature.toLowerCase()
  const right = headers.timestamp + headers.requestId + headers.appKey
  for (const attempt of attempts(headers, secret, body)) {
    const text = (attempt.head ?? right) + (attempt.body ?? body)
    if ((await hmacHex(attempt.key ?? encoder.encode(secret), text)) === given) return attempt.words
  }
  return t.debugger.words.signatureUnknown
}

function attempts(headers: RequestHeaders, secret: string, body: string): Attempt[] {
  const { timestamp, requestId, appKey } = headers
  const { mistakes } = t.debugger
  const changed = (how: string) => say(mistakes.reserialised, { how })
  return [
    ...otherBodies(body).map(([text, how]) => ({ body: text, words: changed(how) })),
    { body: '', words: mistakes.empty },
    { key: base64Bytes(secret), words: mistakes.base64 },
    ...[`${secret}\n`, `${secret}\r\n`, `${secret} `].map((text) => ({
      key: encoder.encode(text),
      words: mistakes.trimmed,
    })),
    { key: encoder.encode(appKey), words: mistakes.appKeyAsSecret },
    ...[
      timestamp + appKey + requestId,
      appKey + timestamp + requestId,
      appKey + requestId + timestamp,
      requestId + timestamp + appKey,
      requestId + appKey + timestamp,
    ].map((head) => ({ head, words: mistakes.order })),
    ...['\n', '&', ',', '.', ':', '|', ' '].map((separator) => ({
      head: [timestamp, requestId, appKey].join(separator) + separator,
      words: say(mistakes.separator, { separator: separator === '\n' ? '\\n' : separator }),
    })),
    { head: timestamp.slice(0, 10) + requestId + appKey, words: mistakes.seconds },
    { head: timestamp + requestId.toLowerCase() + appKey, words: mistakes.lowerCase },
    { head: timestamp + requestId, words: mistakes.noAppKey },
  ]
}

/** The same JSON as other serialisers write it. */
function otherBodies(body: string): [text: string, how: string][] {
  const { mistakes } = t.debugger
  const texts: [string, string][] = [
    [body.replace(/\r?\n$/, ''), mistakes.newline],
    [`${body}\n`, mistakes.withNewline],
  ]
  try {
    const value: unknown = JSON.parse(body)
    const compact = JSON.stringify(value)
    texts.push([compact, mistakes.compact])
    texts.push([JSON.stringify(value, null, 2), mistakes.pretty])
    texts.push([JSON.stringify(value, null, 4), mistakes.pretty])
    texts.push([JSON.stringify(value, null, '\t'), mistakes.pretty])
    texts.push([spaced(value), mistakes.spaced])
  } catch {
    // No JSON: only its ends can have been changed.
  }
  return texts.filter(([text]) => text !== body)
}

/** As Python's json.dumps writes. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (character) => character.charCodeAt(0))
  } catch {
    return encoder.encode(text)
  }
}

async function hmacHex(key: Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  // Web Crypto refuses an empty key; nobody signs with none.
  if (key.length === 0) return ''
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
