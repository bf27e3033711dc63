import { say, t } from './strings/index.ts'

/** Calls to the console's interface. A failure is an ApiFailure whose message is a sentence to show as it is. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  readonly code: string
  readonly data: Record<string, unknown>
  constructor(status: number, code: string, message: string, data: Record<string, unknown> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.data = data
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Query = Record<string, string | number | boolean | null | undefined>

/** The gateway writes <base>, so the console works below any path prefix. */
export const consoleBase = new URL(document.baseURI)

export function apiUrl(path: string, query: Query = {}): URL {
  const url = new URL(`api${path}`, consoleBase)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value))
  }
  return url
}

export async function call<Answer>(
  method: Method,
  path: string,
  parts: { query?: Query | undefined; body?: unknown; signal?: AbortSignal | undefined } = {},
): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(apiUrl(path, parts.query), {
      method,
      credentials: 'same-origin',
      ...(parts.signal && { signal: parts.signal }),
      ...(parts.body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(parts.body),
      }),
    })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiFailure(0, 'UNREACHABLE', t.errors.unreachable)
  }
  const answer = await readAnswer(response)
  if (response.ok) return answer as Answer
  const { code = 'UNKNOWN', message = say(t.errors.answered, { status: response.status }), data } = answer
  throw new ApiFailure(response.status, code, message, data)
}

interface Failure {
  code?: string
  message?: string
  data?: Record<string, unknown>
}

async function readAnswer(response: Response): Promise<Failure> {
  try {
    return (await response.json()) as Failure
  } catch {
    return {}
  }
}
