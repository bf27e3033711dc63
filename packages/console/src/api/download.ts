import { t } from '../strings/strings.ts'
import { ApiError, apiUrl, errorFrom } from './call.ts'

/** Downloads the file that answers a POST, such as one that needs a password. */
export async function postForFile(path: string, body: object, name: string): Promise<void> {
  let response: Response
  let text: string
  try {
    response = await fetch(apiUrl(path), {
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    text = await response.text()
  } catch {
    throw new ApiError(0, 'UNREACHABLE', t.errors.unreachable)
  }
  if (!response.ok) throw errorFrom(response.status, text)
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
