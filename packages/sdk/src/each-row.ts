import { DealerEsimError } from './error.ts'

type Page<List extends string, T> = Record<List, readonly T[]> & { nextCursor: string | null }

/** The rows of all pages, from their member `list`. A page is requested when its first row is needed, so a loop can end early. */
export async function* eachRow<List extends string, T>(
  list: List,
  getPage: (cursor: { cursor?: string }) => Promise<Page<List, T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined
  for (;;) {
    const page = await getPage(cursor === undefined ? {} : { cursor })
    yield* page[list]
    if (page.nextCursor === null || page.nextCursor === undefined) return
    if (page.nextCursor === cursor) {
      const message = 'The gateway returned the same cursor twice, so the list would never end.'
      throw new DealerEsimError({ code: 'ANSWER_UNREADABLE', message })
    }
    cursor = page.nextCursor
  }
}
