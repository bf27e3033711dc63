/**
 * Checks the options that a program passes. An invalid option causes a TypeError that says what to do, before anything is
 * sent.
 */

export function checkBaseUrl(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(`baseUrl must be an address such as https://esim.example.com, not ${JSON.stringify(text)}`)
  }
  if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not carry a user name or password')
  const base = `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '')
  if (base.endsWith('/open-api/v1')) throw new TypeError('baseUrl must not end with /open-api/v1: remove it')
  return base
}

export function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} is missing`)
  if (value !== value.trim()) throw new TypeError(`${name} begins or ends with a space or a line break: remove it`)
  return value
}

/** The longest delay of a timer; a longer one, or NaN, fires immediately. */
export const TIMER_MAX_MS = 2 ** 31 - 1

export function checkTimeout(value: unknown): number {
  if (typeof value === 'number' && value >= 1 && value <= TIMER_MAX_MS) return value
  throw new TypeError(`timeoutMs must be a number of milliseconds from 1 to ${TIMER_MAX_MS}, not ${value}`)
}

export function checkRetries(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 0) return value as number
  throw new TypeError(`retries must be a whole number from 0, not ${value}`)
}

/** One secret, or the new and the old one in a grace period; null and empty entries are ignored. */
export type SecretsInput = string | readonly (string | null | undefined)[]

/** Returns the secrets that are set, at least one. A secret that is not a string would act as a key that anybody can guess. */
export function checkSecrets(given: SecretsInput): string[] {
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  const secrets = all.filter((secret) => typeof secret === 'string' && secret !== '')
  if (secrets.length === 0) throw new TypeError('appSecret is missing')
  return secrets.map((secret) => checkText('appSecret', secret))
}

/** Calls a listener in the caller's program. Its errors must not affect the call, so they are only logged to the console. */
export async function notifyListener<T>(listener: ((value: T) => unknown) | undefined, value: T): Promise<void> {
  try {
    await listener?.(value)
  } catch (error) {
    console.error(error)
  }
}
