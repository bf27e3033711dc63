import { BODY_SIZE_MAX_BYTES } from '../limits.ts'
import { webhookSecret } from './event-signing.ts'
import type { SignedParts } from './request-headers.ts'
import { type Body, concatenate, utf8 } from './request-signing.ts'
import { type BodyMistakeId, usualBodies } from './usual-bodies.ts'
import { type DigestKind, type DigestMistakeId, fromBase64, type GivenDigest, usualDigests } from './usual-digests.ts'

/**
 * Every usual way to sign, for whoever has the secret and asks why a signature does not match: the right way first, then
 * each mistake alone, then several at once. The caller computes the digests; the first that is as given explains the
 * signature by the fewest mistakes. There is nothing to try for what is no digest, nor for a body that no gateway takes:
 * a few thousand digests of one without a limit would take for ever.
 */
export function* usualMistakes(request: MismatchedRequest): Generator<Attempt> {
  const given = usualDigests(request.signature)
  if (given === undefined || concatenate('', request.body).length > BODY_SIZE_MAX_BYTES) return
  for (const { key, head, body, kind, mistakes } of combinations(request, given)) {
    const text = concatenate(head, body)
    const signed = kind.keyed ? { key, bytes: text } : { bytes: concatenate(text, key) }
    yield { ...signed, hash: kind.hash, digest: given.hex, mistakes }
  }
}

export interface MismatchedRequest extends SignedParts {
  secret: string
  body: Body
  /** As given: hex or, wrongly, Base64. */
  signature: string
  /** Where it is known, to see whether it was signed, too. */
  path?: string | undefined
}

export interface Attempt {
  /** Of the HMAC. Without one the plain hash of the bytes is meant. */
  key?: Uint8Array<ArrayBuffer>
  bytes: Uint8Array<ArrayBuffer>
  hash: DigestKind['hash']
  /** Lower-case hex: what comes out where the request was signed in this way. */
  digest: string
  /** None for the right way. */
  mistakes: Mistake[]
}

export interface Mistake {
  id: MistakeId
  /** Of `separated`: what stands between the parts. */
  separator?: string
}

export type MistakeId = SecretMistakeId | HeadMistakeId | BodyMistakeId | DigestMistakeId

type SecretMistakeId = 'secretDecoded' | 'secretWithLineBreak' | 'secretWithSpace' | 'secretAsWhsec' | 'appKeyAsSecret'

type HeadMistakeId =
  | 'separated'
  | 'appKeyBeforeRequestId'
  | 'requestIdBeforeTimestamp'
  | 'appKeyFirst'
  | 'requestIdFirst'
  | 'withoutAppKey'
  | 'withoutRequestId'
  | 'timestampInSeconds'
  | 'requestIdInLowerCase'
  | 'requestIdInUpperCase'
  | 'requestIdWithoutHyphens'
  | 'pathSigned'

/** The fewest mistakes first; of as many, in the order of the lists. */
function combinations(request: MismatchedRequest, given: GivenDigest) {
  const heads = usualHeads(request)
  const bodies = usualBodies(request.body)
  const all = usualKeys(request).flatMap(({ key, ...ofKey }) =>
    heads.flatMap(({ head, ...ofHead }) =>
      bodies.flatMap(({ body, ...ofBody }) =>
        given.made.map((kind) => {
          const mistakes = [ofKey.mistake, ofHead.mistake, asMistake(ofBody.mistake), ...kind.mistakes.map(asMistake)]
          return { key, head, body, kind, mistakes: mistakes.filter((mistake) => mistake !== undefined) }
        }),
      ),
    ),
  )
  return all.sort((left, right) => left.mistakes.length - right.mistakes.length)
}

function asMistake(id: MistakeId | undefined): Mistake | undefined {
  return id && { id }
}

interface UsualKey {
  key: Uint8Array<ArrayBuffer>
  mistake?: Mistake
}

function usualKeys({ secret, appKey }: MismatchedRequest): UsualKey[] {
  const wrong = (key: Uint8Array<ArrayBuffer>, id: SecretMistakeId): UsualKey => ({ key, mistake: { id } })
  const decoded = fromBase64(secret)
  const keys = [
    { key: utf8(secret) },
    ...(decoded ? [wrong(decoded, 'secretDecoded')] : []),
    wrong(utf8(`${secret}\n`), 'secretWithLineBreak'),
    wrong(utf8(`${secret}\r\n`), 'secretWithLineBreak'),
    wrong(utf8(`${secret} `), 'secretWithSpace'),
    wrong(utf8(webhookSecret(secret)), 'secretAsWhsec'),
    wrong(utf8(appKey), 'appKeyAsSecret'),
  ]
  // Nobody signs with nothing, and Web Crypto refuses to.
  return keys.filter(({ key }) => key.length > 0)
}

const SEPARATORS = ['\n', '&', ',', '.', ':', '|', ' ']

interface UsualHead {
  /** What is signed ahead of the body. */
  head: string
  mistake?: Mistake
}

function usualHeads({ timestamp, requestId, appKey, path }: MismatchedRequest): UsualHead[] {
  const right = timestamp + requestId + appKey
  const wrong = (head: string, id: HeadMistakeId): UsualHead => ({ head, mistake: { id } })
  const heads = [
    ...SEPARATORS.map((separator): UsualHead => {
      const head = timestamp + separator + requestId + separator + appKey + separator
      return { head, mistake: { id: 'separated', separator } }
    }),
    wrong(timestamp + appKey + requestId, 'appKeyBeforeRequestId'),
    wrong(requestId + timestamp + appKey, 'requestIdBeforeTimestamp'),
    wrong(appKey + requestId + timestamp, 'appKeyFirst'),
    wrong(appKey + timestamp + requestId, 'appKeyFirst'),
    wrong(requestId + appKey + timestamp, 'requestIdFirst'),
    wrong(timestamp + requestId, 'withoutAppKey'),
    wrong(timestamp + appKey, 'withoutRequestId'),
    wrong(timestamp.slice(0, 10) + requestId + appKey, 'timestampInSeconds'),
    wrong(timestamp + requestId.toLowerCase() + appKey, 'requestIdInLowerCase'),
    wrong(timestamp + requestId.toUpperCase() + appKey, 'requestIdInUpperCase'),
    wrong(timestamp + requestId.replaceAll('-', '') + appKey, 'requestIdWithoutHyphens'),
    ...(path === undefined ? [] : [wrong(right + path, 'pathSigned')]),
  ]
  // A RequestID is in lower case already, say: to sign it so is right.
  return [{ head: right }, ...heads.filter(({ head }) => head !== right)]
}
