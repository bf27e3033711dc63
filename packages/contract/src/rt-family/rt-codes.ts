/** The codes of the RT family that the gateway returns as `errorCode`, with their meaning here. */
export const rtCodes = {
  '000001': 'An internal error; the outcome may be unknown. Repeat with the same transactionId.',
  '000101': 'A header is missing.',
  '000102': 'A header is malformed, the body is too large or not JSON, or there is no such operation.',
  '000103': 'The method is not POST.',
  '000104': 'The body is not a JSON object.',
  '000105': 'A parameter is missing.',
  '000106': 'A parameter is null though it is required.',
  '000107': 'A parameter is too long or too short.',
  '101001': 'The timestamp is more than 300 s off.',
  '101002': 'The address is not in the allowlist.',
  '101003': 'The signature or RT-SecretKey does not match, or there is no such RT-AccessCode.',
  '200002': 'The state of the eSIM does not allow it, or its supplier refused it or cannot do it.',
  '200005': 'The price has changed.',
  '200006': 'The total has changed.',
  '200007': 'The balance or the daily spend limit is not sufficient.',
  '200008': 'A parameter is malformed, out of range or unknown.',
  '200009': 'The order ended without eSIMs, or the top-up failed; it is refunded.',
  '200010': 'The eSIMs are not ready yet. This is not a failure: ask again.',
  '200011': 'There are not enough eSIMs of this package.',
  '310241': 'There is no such package.',
  '310243': 'The package is off sale, or does not fit the eSIM.',
  '310272': 'There is no such order.',
  '310402': 'The transactionId was used before with other content.',
  '310403': 'There is no such eSIM.',
  '401001':
    'This account or key may not do this here: the account is suspended or in another currency, the restricted key may not call the operation, or a signature or HTTPS is required.',
  '900001':
    'The gateway is busy, the rate limit is exceeded, the RequestID was used before, or the action is still in progress. Repeat the request.',
} as const

export type RtCode = keyof typeof rtCodes

/** Codes that any operation may return. */
export const rtCommonCodes = (Object.keys(rtCodes) as RtCode[]).filter(
  (code) => /^(000|101|401|900)/.test(code) || code === '200008',
)
