import { t } from '../strings/strings.ts'
import { ApiFailure, apiUrl, failureFrom, type Query } from './call.ts'

/** Sends a text file and tells how much of it is sent; `onText` gets the answer as it grows. */
export function upload(
  path: string,
  query: Query,
  file: Blob,
  on: { sent?(share: number): void; text?(text: string): void } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', apiUrl(path, query))
    request.setRequestHeader('content-type', 'text/csv')
    request.upload.onprogress = (event) => on.sent?.(event.total === 0 ? 1 : event.loaded / event.total)
    request.onprogress = () => on.text?.(request.responseText)
    request.onerror = () => reject(new ApiFailure(0, 'UNREACHABLE', t.errors.unreachable))
    request.onload = () => {
      if (request.status === 200) resolve(request.responseText)
      else reject(failureFrom(request.status, request.responseText))
    }
    request.send(file)
  })
}
