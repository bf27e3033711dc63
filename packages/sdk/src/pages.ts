import { DealerEsimError } from './error.ts'

interface Page<T> {
  rows: readonly T[]
  nextCursor: string | null
}

/** The rows of all pages. A page is asked for when its first row is wanted, so leaving the loop early costs nothing. */
export async function* eachRow<T>(ask: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined
  for (;;) {
    const page = await ask(cursor === undefined ? {} : { cursor })
    yield* page.rows
    if (page.nextCursor === null || page.nextCursor === undefined) return
    if (page.nextCursor === cursor) {
      const message = 'The gateway answered the same cursor twice: the list would never end.'
      throw new DealerEsimError({ code: 'ANSWER_UNREADABLE', message })
    }
    cursor = page.nextCursor
  }
}
