import { useEffect } from 'react'

/** The row pages of the most recently shown list, so that a record can link to its neighbours. */
let pages: readonly string[] = []

export function useNeighbours(shown: readonly string[] | undefined | ''): void {
  const text = shown ? shown.join('\n') : undefined
  useEffect(() => {
    if (text !== undefined) pages = text.split('\n')
  }, [text])
}

export interface Neighbours {
  /** From 1. */
  position: number
  count: number
  previous: string | undefined
  next: string | undefined
}

/** A record's position in that list; undefined if it was not opened from one. */
export function neighboursOf(path: string): Neighbours | undefined {
  const index = pages.indexOf(path)
  if (index === -1) return undefined
  return { position: index + 1, count: pages.length, previous: pages[index - 1], next: pages[index + 1] }
}
