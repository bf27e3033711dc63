import { t } from '#strings/strings.ts'
import { ApiError, apiRequest, errorFrom, type Query } from './call-api.ts'

/** Downloads a file that a POST returns, such as one that needs a password. */
export async function postForFile(path: string, body: object, name: string): Promise<void> {
  const { url, headers } = apiRequest(path)
  await saveAnswer(name, url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Downloads a CSV file whose query must not be in its address. */
export async function getPrivateFile(path: string, query: Query, name: string): Promise<void> {
  const { url, headers } = apiRequest(path, query)
  await saveAnswer(name, url, { headers })
}

async function saveAnswer(name: string, url: URL, request: RequestInit): Promise<void> {
  let response: Response
  let text: string
  try {
    response = await fetch(url, { ...request, credentials: 'same-origin' })
    text = await response.text()
  } catch {
    throw new ApiError(0, 'UNREACHABLE', t.errors.unreachable)
  }
  if (!response.ok) throw errorFrom(response.status, text)
  saveFile(name, text, 'text/csv')
}

/** Has the browser save a text as a file. */
export function saveFile(name: string, text: string, type: 'text/csv' | 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
