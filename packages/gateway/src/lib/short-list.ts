/** `a, b and 3 more`: at most `max` of the names. */
export function shortList(names: readonly string[], max: number, separator = ', '): string {
  const more = names.length - max
  return names.slice(0, max).join(separator) + (more > 0 ? ` and ${more} more` : '')
}
