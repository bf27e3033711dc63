import { createHash, createHmac } from 'node:crypto'
import { type MismatchedRequest, type Mistake, type MistakeId, usualMistakes } from '@dealer-esim/contract'

/** The fewest mistakes that explain the signature, none for a right one, or undefined where none of the usual ones do. */
export function findMistakes(request: MismatchedRequest): Mistake[] | undefined {
  for (const { key, bytes, hash, digest, mistakes } of usualMistakes(request)) {
    const name = hash.replace('-', '')
    const made = key ? createHmac(name, key) : createHash(name)
    if (made.update(bytes).digest('hex') === digest) return mistakes
  }
  return undefined
}

/** `done` completes "It matches when …". */
export function explain(mistakes: readonly Mistake[]): { done: string; cure: string } {
  const told = mistakes.map(({ id, separator = '' }) => {
    const { done, cure } = WORDS[id]
    return { done: done.replace('{separator}', NAMES[separator] ?? separator), cure }
  })
  return {
    done: told.map(({ done }) => done).join(' and '),
    cure: [...new Set(told.map(({ cure }) => cure))].join(' '),
  }
}

const NAMES: Record<string, string> = { '\n': 'line breaks', ' ': 'spaces', ',': 'commas', '.': 'dots', ':': 'colons' }

const PARTS = 'RT-Timestamp, RT-RequestID, RT-AccessCode and the body'
const ORDER = `Join them in the order ${PARTS}.`
const ALL = `Sign ${PARTS}.`
const AS_HEADER = 'Sign the text of the header exactly as you send it.'
const AS_SENT = 'Serialise the body once, and sign and send those very bytes.'
const HEX = 'Send HMAC-SHA256 as 64 hex digits.'

const again = (how: string) => ({
  done: `the body is serialised again between signing and sending (${how})`,
  cure: AS_SENT,
})

const WORDS: Record<MistakeId, { done: string; cure: string }> = {
  secretDecoded: { done: 'the AppSecret is Base64-decoded first', cure: 'Use the bytes of its text as they are.' },
  secretWithLineBreak: { done: 'the AppSecret ends with a line break', cure: 'Trim it when you read it from a file.' },
  secretWithSpace: { done: 'the AppSecret ends with a space', cure: 'Trim it where you read it.' },
  secretAsWhsec: {
    done: 'the key is the whsec_ form of the AppSecret',
    cure: 'That form is for Standard Webhooks libraries; sign requests with the AppSecret itself.',
  },
  appKeyAsSecret: { done: 'the AppKey is used as the secret', cure: 'Sign with the AppSecret.' },
  separated: { done: 'the parts are separated by {separator}', cure: 'Join them without anything between.' },
  appKeyBeforeRequestId: { done: 'the AppKey comes before the RequestID', cure: ORDER },
  requestIdBeforeTimestamp: { done: 'the RequestID comes before the timestamp', cure: ORDER },
  appKeyFirst: { done: 'the AppKey comes first', cure: ORDER },
  requestIdFirst: { done: 'the RequestID comes first', cure: ORDER },
  withoutAppKey: { done: 'the AppKey is left out', cure: ALL },
  withoutRequestId: { done: 'the RequestID is left out', cure: ALL },
  timestampInSeconds: { done: 'the signed timestamp is in seconds', cure: 'Sign the milliseconds that you send.' },
  requestIdInLowerCase: { done: 'the signed RequestID is in lower case', cure: AS_HEADER },
  requestIdInUpperCase: { done: 'the signed RequestID is in upper case', cure: AS_HEADER },
  requestIdWithoutHyphens: { done: 'the signed RequestID has no hyphens', cure: AS_HEADER },
  pathSigned: { done: 'the path is signed too', cure: `Sign ${PARTS} only.` },
  withoutFinalLineBreak: {
    done: 'the line break after the body is not part of it',
    cure: 'If the line break only came with the file that you gave me, the request itself is right.',
  },
  withFinalLineBreak: {
    done: 'a line break follows the body',
    cure: 'Sign and send it without; echo adds one, printf does not.',
  },
  lineBreaksAsLf: { done: 'line breaks are LF where the sent body has CRLF', cure: AS_SENT },
  lineBreaksAsCrlf: { done: 'line breaks are CRLF where the sent body has LF', cure: AS_SENT },
  withoutByteOrderMark: {
    done: 'the byte-order mark is not part of the body',
    cure: 'Write UTF-8 without a byte-order mark.',
  },
  bodyLeftOut: { done: 'no body is signed', cure: 'Sign the body too, {} where there is nothing to say.' },
  emptyObject: { done: 'the body {} is signed', cure: AS_SENT },
  compact: again('without spaces'),
  spaced: again('with spaces after : and ,'),
  indentedBy2: again('indented by 2'),
  indentedBy4: again('indented by 4'),
  indentedByTabs: again('indented by tabs'),
  sorted: again('members in alphabetical order'),
  sortedSpaced: again('members in alphabetical order, with spaces'),
  escaped: again('letters outside ASCII as \\u escapes'),
  escapedSpaced: again('letters outside ASCII as \\u escapes, with spaces'),
  slashesEscaped: again('with \\/ for /'),
  sha1: { done: 'SHA-1 is used', cure: HEX },
  sha512: { done: 'SHA-512 is used', cure: HEX },
  plainHash: {
    done: 'a plain SHA-256 with the secret at the end is used',
    cure: 'Use HMAC-SHA256 with the secret as its key.',
  },
  base64: { done: 'the signature is sent in Base64', cure: HEX },
}
