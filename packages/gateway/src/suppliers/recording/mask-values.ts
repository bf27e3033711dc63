/** A value of an account's configuration, with the name of its member. */
export interface NamedValue {
  name: string
  value: string
}

/** Shorter ones would also replace parts of other texts. They occur only in headers, which are not recorded. */
const LENGTH_MIN = 6

/** Pure: replaces the values in a JSON text, also where they are part of a URL, e.g. by `recorded-apiKey`. */
export function maskValues(json: string, values: readonly NamedValue[]): string {
  let masked = json
  for (const { name, value } of values) {
    if (value.length < LENGTH_MIN) continue
    for (const form of new Set([
      value,
      encodeURIComponent(value),
      new URLSearchParams({ value }).toString().slice(6),
    ])) {
      const inJson = JSON.stringify(form).slice(1, -1)
      masked = masked.replaceAll(inJson, maskOf(name))
      masked = masked.replaceAll(JSON.stringify(inJson).slice(1, -1), maskOf(name)) // JSON within JSON
    }
  }
  return masked
}

/** What stands for a member, also in the configuration that replays a recording. */
export function maskOf(name: string): string {
  return `recorded-${name}`
}
