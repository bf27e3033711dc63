import { interpolate, t } from '../strings/strings.ts'

/** Calls to the console's interface. A failure is an ApiFailure whose message is a sentence to show as it is. */
export class ApiError extends Error {
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

/** Whether the session has ended. Wrong passwords and codes are answered with 401, too. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'SIGNED_OUT'
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
  options: { query?: Query | undefined; body?: unknown; signal?: AbortSignal | undefined } = {},
): Promise<Answer> {
  let response: Response
  let text: string
  try {
    response = await fetch(apiUrl(path, options.query), {
      method,
      credentials: 'same-origin',
      ...(options.signal && { signal: options.signal }),
      headers: {
        ...(isInactive() && { 'x-unattended': 'true' }),
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
    })
    text = await response.text()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'UNREACHABLE', t.errors.unreachable)
  }
  if (response.ok) return parseObject(text) as Answer
  throw errorFrom(response.status, text)
}

/** What a refused call is told: the gateway's own sentence; where a proxy answers in its place, the status. */
export function errorFrom(status: number, text: string): ApiError {
  const {
    code = 'UNKNOWN',
    message = interpolate(t.errors.httpStatus, { status }),
    data,
  } = parseObject(text) as ErrorBody
  return new ApiError(status, code, message, data)
}

interface ErrorBody {
  code?: string
  message?: string
  data?: Record<string, unknown>
}

/** None where the text is no JSON object: a proxy's page, or nothing. */
function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Longer than somebody reads without a movement; far shorter than the idle time that ends a session. */
const INACTIVE_AFTER_MS = 5 * 60_000
const ACTIVITY_EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const

let lastActivityMs = Date.now()

/** Begins to notice whether somebody is there. */
export function watchActivity(): void {
  const seen = () => {
    lastActivityMs = Date.now()
  }
  for (const sign of ACTIVITY_EVENTS) addEventListener(sign, seen, { capture: true, passive: true })
}

/** Whether nobody has touched the page for a while: what it then asks by itself is no use of the session. */
export function isInactive(): boolean {
  return Date.now() - lastActivityMs >= INACTIVE_AFTER_MS
}
