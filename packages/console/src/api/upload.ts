import { language, t } from '#strings/strings.ts'
import { ApiError, apiUrl, errorFrom, type Query } from './call-api.ts'

/** Uploads a CSV file. `onSent` receives the share sent so far, `onText` the response received so far. */
export function upload(
  path: string,
  query: Query,
  file: Blob,
  on: { onSent?(share: number): void; onText?(text: string): void } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', apiUrl(path, query))
    request.setRequestHeader('content-type', 'text/csv')
    request.setRequestHeader('accept-language', language)
    request.upload.onprogress = (event) => on.onSent?.(event.total === 0 ? 1 : event.loaded / event.total)
    request.onprogress = () => on.onText?.(request.responseText)
    request.onerror = () => reject(new ApiError(0, 'UNREACHABLE', t.errors.unreachable))
    request.onload = () => {
      if (request.status === 200) resolve(request.responseText)
      else reject(errorFrom(request.status, request.responseText))
    }
    request.send(file)
  })
}
