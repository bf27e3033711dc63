const TOLD_EVERY_MS = 1_000

/** Counts what comes by the thousand, and tells of it once a second. */
export function rateLimited(tell: (count: number) => void): () => void {
  let untold = 0
  return () => {
    if (untold++ > 0) return
    setTimeout(() => {
      tell(untold)
      untold = 0
    }, TOLD_EVERY_MS).unref()
  }
}
