import { DealerEsimError } from './error.ts'

interface Page<T> {
  rows: readonly T[]
  nextCursor: string | null
}

/** The rows of all pages. Each page is requested when its first row is needed, so leaving the loop early costs nothing. */
export async function* eachRow<T>(getPage: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined
  for (;;) {
    const page = await getPage(cursor === undefined ? {} : { cursor })
    yield* page.rows
    if (page.nextCursor === null || page.nextCursor === undefined) return
    if (page.nextCursor === cursor) {
      const message = 'The gateway returned the same cursor twice, so the list would never end.'
      throw new DealerEsimError({ code: 'ANSWER_UNREADABLE', message })
    }
    cursor = page.nextCursor
  }
}
