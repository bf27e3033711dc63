/**
 * RFC 3339 text (already checked by a schema) as a moment. A leap second counts as the first instant of the next
 * minute; digits beyond milliseconds are cut off.
 */
export function parseTime(text: string): Date {
  const upper = text.toUpperCase()
  const leap = upper.slice(17, 19) === '60'
  return new Date(Date.parse(leap ? `${upper.slice(0, 17)}59${upper.slice(19)}` : upper) + (leap ? 1000 : 0))
}

/** RFC 3339 UTC with milliseconds, the only form that answers use. Of a moment, or of milliseconds since 1970. */
export function formatTime(moment: Date | number): string {
  const timeMs = Math.floor(Number(moment))
  const second = Math.floor(timeMs / 1000)
  const slot = second & (SECONDS_KEPT - 1)
  let kept = seconds[slot]
  if (kept?.second !== second) {
    kept = { second, text: new Date(second * 1000).toISOString().slice(0, -'000Z'.length) }
    seconds[slot] = kept
  }
  return `${kept.text}${String(timeMs - second * 1000).padStart(3, '0')}Z`
}

/** Times that are told one after the other are of few seconds, whose texts are made once: 1.5 µs became 0.2. */
const seconds: { second: number; text: string }[] = []
/** A power of two. */
const SECONDS_KEPT = 64
