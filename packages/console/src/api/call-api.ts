import { formatMessage, language, t } from '#strings/strings.ts'

/** A failed call to the console API. Its message can be shown to the user. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
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

/** True if the session has ended. The status does not say: a wrong password or code is also answered with 401. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'SIGNED_OUT'
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Query = Record<string, string | number | boolean | null | undefined>

/** The gateway sets <base>, so the console works below any path prefix. */
export const consoleBase = new URL(document.baseURI)

/** The pages below it show the dealer's test twin: `/console/test/orders`. */
export const testBase = new URL('test/', consoleBase)

/**
 * Test mode is in the address, so a reload or a copied link stays in it. It never changes while the page is open: the switch loads
 * another page, so nothing that was read in one mode is in memory in the other.
 */
export const isTestMode = location.pathname.startsWith(testBase.pathname)

export function apiUrl(path: string, query: Query = {}): URL {
  const url = new URL(`${isTestMode ? 'api/test' : 'api'}${path}`, consoleBase)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value))
  }
  return url
}

/**
 * The address and headers of a request. What people type, such as a traveller's e-mail address, is sent in the header X-Query, because
 * proxies log addresses.
 */
export function apiRequest(path: string, query: Query = {}): { url: URL; headers: Record<string, string> } {
  // The gateway's sentences are in the language of the page.
  const inLanguage = { 'accept-language': language }
  const typed = Object.entries(query).filter(([name, value]) => value && (name === 'q' || isPrivate(String(value))))
  if (typed.length === 0) return { url: apiUrl(path, query), headers: inLanguage }
  const names = new Set(typed.map(([name]) => name))
  const rest = Object.fromEntries(Object.entries(query).filter(([name]) => !names.has(name)))
  const header = new URLSearchParams(typed.map(([name, value]) => [name, String(value)])).toString()
  return { url: apiUrl(path, rest), headers: { ...inLanguage, 'x-query': header } }
}

/** True for an e-mail address, also one that is still being typed. */
export function isPrivate(text: string): boolean {
  return text.includes('@')
}

export async function call<Answer>(
  method: Method,
  path: string,
  options: {
    query?: Query | undefined
    body?: unknown
    file?: Blob | undefined
    signal?: AbortSignal | undefined
  } = {},
): Promise<Answer> {
  let response: Response
  let text: string
  const { url, headers } = apiRequest(path, options.query)
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      ...(options.signal && { signal: options.signal }),
      headers: {
        ...headers,
        ...(isInactive() && { 'x-unattended': 'true' }),
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...(options.file && { 'content-type': 'application/octet-stream' }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.file && { body: options.file }),
    })
    text = await response.text()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'UNREACHABLE', t.errors.unreachable)
  }
  if (response.ok) return parseObject(text) as Answer
  throw errorFrom(response.status, text)
}

/** Uses the gateway's message, or the status if something else, such as a proxy, has answered. */
export function errorFrom(status: number, text: string): ApiError {
  const {
    code = 'UNKNOWN',
    message = formatMessage(t.errors.httpStatus, { status }),
    data,
  } = parseObject(text) as ErrorBody
  return new ApiError(status, code, message, data)
}

interface ErrorBody {
  code?: string
  message?: string
  data?: Record<string, unknown>
}

/** Returns an empty object for anything but a JSON object, such as a proxy's error page. */
function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Longer than people read without moving the pointer, and far shorter than the idle time that ends a session. */
const INACTIVE_AFTER_MS = 5 * 60_000
const ACTIVITY_EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const

let lastActivityMs = Date.now()

/** Starts watching for user activity. */
export function watchActivity(): void {
  const seen = () => {
    lastActivityMs = Date.now()
  }
  for (const sign of ACTIVITY_EVENTS) addEventListener(sign, seen, { capture: true, passive: true })
}

/** True if the user has been inactive. Automatic refreshes then do not prolong the session. */
function isInactive(): boolean {
  return Date.now() - lastActivityMs >= INACTIVE_AFTER_MS
}
