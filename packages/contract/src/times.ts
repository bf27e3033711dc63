/**
 * RFC 3339 text (already checked by a schema) as a moment. A leap second counts as the first instant of the next
 * minute; digits beyond milliseconds are cut off.
 */
export function parseTime(text: string): Date {
  const upper = text.toUpperCase()
  const leap = upper.slice(17, 19) === '60'
  return new Date(Date.parse(leap ? `${upper.slice(0, 17)}59${upper.slice(19)}` : upper) + (leap ? 1000 : 0))
}

/** RFC 3339 UTC with milliseconds, the only form that answers use. */
export function formatTime(moment: Date): string {
  return moment.toISOString()
}
