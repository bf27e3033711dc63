/** A request that was captured as raw HTTP, header lines, the output of `curl -v`, or JSON from a log. */
export interface CapturedRequest {
  /** `POST`, if the text contains a request line. */
  method?: string
  path?: string
  /** By lower-case name; repeated headers are joined, as servers do. */
  headers: Record<string, string>
  body: Buffer
  /** True if there was a body that the text does not contain, as in the output of curl -v. */
  bodyMissing?: boolean
}

/**
 * Reads header lines, an empty line and the body, or JSON `{"headers": {…}, "body": "…"}`. The body's bytes are not
 * changed, but bytes beyond Content-Length are dropped.
 */
export function readRequest(bytes: Buffer): CapturedRequest | undefined {
  return fromJson(bytes) ?? fromText(sentByCurl(bytes) ?? bytes)
}

/** The request in the output of `curl -v`, without the answer and curl's own messages. */
function sentByCurl(bytes: Buffer): Buffer | undefined {
  const lines = bytes.toString('utf8').split(/\r?\n/)
  const sent = lines.filter((line) => /^>( |$)/.test(line))
  if (sent.length === 0 || !lines.some((line) => /^[*<{}] /.test(line))) return undefined
  // An empty line ends a request; curl may have sent another request after it.
  const end = sent.findIndex((line) => line.trim() === '>')
  return Buffer.from(`${sent.slice(0, end === -1 ? undefined : end).join('\n')}\n\n`)
}

function fromJson(bytes: Buffer): CapturedRequest | undefined {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
  const { headers, body, method, path, url } = (value ?? {}) as Record<string, unknown>
  if (typeof headers !== 'object' || headers === null) return undefined
  const target = path ?? url
  return {
    ...(typeof method === 'string' ? { method } : {}),
    ...(typeof target === 'string' ? { path: target } : {}),
    headers: lowerCased(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: Buffer.from(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)),
  }
}

function fromText(bytes: Buffer): CapturedRequest | undefined {
  const { head, body } = split(bytes)
  const lines = head.split(/\r?\n/).map((line) => line.replace(/^[>\s]+/, '').trimEnd())
  const request: CapturedRequest = { headers: {}, body }
  const found: [string, string][] = []
  for (const line of lines) {
    const start = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?$/.exec(line)
    const header = /^([A-Za-z0-9-]+):(.*)$/.exec(line)
    if (start?.[1] && start[2]) Object.assign(request, { method: start[1], path: start[2] })
    else if (header?.[1]) found.push([header[1], header[2]?.trim() ?? ''])
    else if (line !== '') return undefined
  }
  if (found.length === 0) return undefined
  request.headers = lowerCased(found)
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (length < body.length) request.body = body.subarray(0, length)
  if (length > 0 && body.length === 0 && /^> /m.test(head)) request.bodyMissing = true
  return request
}

function split(bytes: Buffer): { head: string; body: Buffer } {
  const ends = ['\r\n\r\n', '\n\n', '\n>\n', '\r\n> \r\n', '\n> \n']
    .map((separator) => ({ at: bytes.indexOf(separator), length: separator.length }))
    .filter(({ at }) => at !== -1)
    .sort((left, right) => left.at - right.at)
  const end = ends[0]
  if (end === undefined) return { head: bytes.toString('utf8').trimEnd(), body: Buffer.alloc(0) }
  return { head: bytes.subarray(0, end.at).toString('utf8'), body: bytes.subarray(end.at + end.length) }
}

function lowerCased(entries: [string, string][]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of entries) {
    const key = name.toLowerCase()
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value
  }
  return headers
}
