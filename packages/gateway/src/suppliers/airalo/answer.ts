import { isCount, isObject, isText, type JsonObject } from '../members.ts'
import type { RestAnswer } from '../rest-client.ts'

/* Pure: decodes what Airalo says about a failure. */

/** The code of `{code, reason}`. */
export function codeOf(body: JsonObject | undefined): number | undefined {
  const code = body?.code
  if (isCount(code)) return code
  return typeof code === 'string' && /^\d{1,6}$/.test(code) ? Number(code) : undefined
}

/** The message about an answer for an operator. */
export function messageOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return answer.message
  const { status, body } = answer
  const code = codeOf(body)
  if (code !== undefined) return isText(body?.reason) ? `${code}: ${body.reason}` : `${code}`
  const meta = isObject(body?.meta) && isText(body.meta.message) ? body.meta.message : undefined
  const faults = faultsOf(body?.data)
  if (faults !== undefined) return `status ${status}: ${faults}`
  return meta === undefined ? `Airalo answered with status ${status} and no readable body` : `status ${status}: ${meta}`
}

/** The texts of faulty parameters: `{"quantity": "The quantity field is required."}`. */
function faultsOf(data: unknown): string | undefined {
  if (!isObject(data)) return undefined
  const texts = Object.entries(data).flatMap(([field, text]) => (isText(text) ? `${field}: ${text}` : []))
  return texts.length === 0 ? undefined : texts.join(' ')
}
