import { API_PATH, codes, type FailureCode, RT_API_PATH, type RtCode } from '@dealer-esim/contract'
import { toApiError } from '../answer.ts'

/** A failure with a code that only the RT family has. */
export class RtFailure extends Error {
  readonly code: RtCode
  constructor(
    code: '000001' | '000105' | '200002' | '200008' | '200009' | '200010' | '401001' | '900001',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
  }
}

/** Our codes that map to different codes of the family. The family's programs repeat a request only on 900001. */
const CODES: { [Code in Exclude<FailureCode, RtCode>]: RtCode } = {
  '000002': '900001',
  '000108': '200008',
  '000109': '000102',
  '000110': '000102',
  '000111': '000102',
  '101004': '101003',
  '101005': '401001',
  '101006': '900001',
  '101007': '900001',
  '101008': '401001',
  '101009': '401001',
  '200012': '310402',
  '200013': '310272',
  '200014': '200007',
  '200015': '200002',
  '200017': '200002',
  '200018': '200008',
  '200019': '200002',
  '310244': '310243',
  '310245': '310243',
  '400101': '200008',
  '400102': '200008',
}

const WAIT = 'Wait a second and repeat the request with a new RT-RequestID.'

/** Messages that replace those about members or headers which this API does not have. */
const MESSAGES: Partial<Record<FailureCode, string>> = {
  '000002': `The gateway is temporarily unavailable and nothing was changed. ${WAIT}`,
  '000101': 'A required header is missing. Send RT-AccessCode, RT-RequestID, RT-Timestamp and RT-Signature.',
  '101007': `Too many requests. ${WAIT}`,
  '200013': 'There is no such order. Check orderNo.',
}

/** The family's code and message for any error. */
export function failureOf(error: unknown): { code: RtCode; message: string } {
  if (error instanceof RtFailure) return { code: error.code, message: error.message }
  const { code, parts } = toApiError(error)
  const message = parts.message ?? MESSAGES[code] ?? codes[code].message
  const [fault] = parts.details ?? []
  const text = fault ? `${message.split('. ', 1)[0]}. ${sentName(fault.field)}: ${fault.reason}` : withoutData(message)
  return { code: codeOf(code), message: text.replace(API_PATH, RT_API_PATH) }
}

/** The dealer API has one member that is sent here under a different name. */
function sentName(field: string): string {
  return field === 'callbackUrl' ? 'webhook' : field
}

/** Without the sentences that refer to members of `data`, which this API does not have. */
function withoutData(message: string): string {
  const sentences = message.split(/(?<=\.) (?=[A-Z])/)
  return sentences.filter((sentence) => !sentence.includes('data.')).join(' ')
}

function codeOf(code: FailureCode): RtCode {
  return (CODES as Partial<Record<FailureCode, RtCode>>)[code] ?? (code as RtCode)
}
