import type { Operation, RawRequest, RequestProblem } from './wholesaler.ts'

export interface ParsedBody {
  /** undefined: no body. Members of a form are texts. */
  value: unknown
  problem?: RequestProblem
}

/** Parses a body as JSON or as a form, whichever the operation accepts and the content type says. */
export function parseBody({ form }: Operation, { headers, raw }: RawRequest): ParsedBody {
  if (raw.length === 0) return { value: undefined }
  const contentType = headers['content-type'] ?? ''
  const mediaType = contentType.split(';')[0]!.trim().toLowerCase()
  if (form && mediaType === 'application/x-www-form-urlencoded')
    return { value: Object.fromEntries(new URLSearchParams(raw.toString())) }
  if (form && mediaType === 'multipart/form-data') return { value: parseMultipart(contentType, raw.toString()) }
  if (form === 'only' || mediaType !== 'application/json')
    return { value: undefined, problem: { path: 'Content-Type', kind: 'content-type' } }
  try {
    return { value: JSON.parse(raw.toString()) }
  } catch {
    return { value: undefined, problem: { path: '', kind: 'json' } }
  }
}

/** Text fields only. */
function parseMultipart(contentType: string, content: string): Record<string, string> {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1] ?? ''
  const fields: Record<string, string> = {}
  for (const part of content.split(`--${boundary}`).slice(1, -1)) {
    const end = part.indexOf('\r\n\r\n')
    const name = /name="([^"]*)"/.exec(part.slice(0, end))?.[1]
    if (name !== undefined) fields[name] = part.slice(end + 4).replace(/\r\n$/, '')
  }
  return fields
}

/** The HTTP statuses of requests as a whole that do not fit, where a wholesaler uses the usual ones. Others: 400. */
export const STATUS_OF_PROBLEM: Partial<Record<RequestProblem['kind'], number>> = {
  'unknown-path': 404,
  method: 405,
  'content-type': 415,
}
