import { findFraction, formatMoney, MalformedMoney, parseMoney } from '@dealer-esim/contract'
import { t } from '#strings/strings.ts'

/**
 * Parses a typed amount into 1/10 000 of the currency. The error is the contract's message, which shows the format.
 * @param currencyCode if known; a currency without a minor unit accepts only whole amounts
 */
export function parseMoneyInput(typed: string, currencyCode = ''): { amount: number } | { error: string } {
  try {
    const amount = Number(parseMoney(typed.trim()))
    const fraction = findFraction(amount, currencyCode)
    return fraction === undefined ? { amount } : { error: fraction }
  } catch (error) {
    if (error instanceof MalformedMoney) return { error: error.message }
    throw error
  }
}

/** True for three capital letters, such as USD. The gateway decides whether the currency exists. */
export function isCurrencyCode(text: string): boolean {
  return /^[A-Z]{3}$/.test(text)
}

/** Formats 1/10 000 of the currency as it is typed. Empty if there is no amount. */
export function formatMoneyInput(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? '' : formatMoney(amount)
}

/** The text fields of a form by name, without empty ones. */
export function formFields(form: HTMLFormElement): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value !== '') fields[name] = value
  }
  return fields
}

/** The gateway's errors by input: modules return them as a record or as a list of details. */
export function fieldErrors({ data }: { data: Record<string, unknown> }): Record<string, string> {
  const details = (data.details ?? []) as { field: string; reason: string }[]
  const listed = Object.fromEntries(details.map(({ field, reason }) => [field, reason]))
  return { ...listed, ...((data.fields ?? {}) as Record<string, string>) }
}

/** The text of an error above a form: that of the gateway, unless it is shown at the fields. */
export function formError(error: Error & { data: Record<string, unknown> }): string {
  return Object.keys(fieldErrors(error)).length > 0 ? t.errors.seeFields : error.message
}

/**
 * The text of an error in a form whose fields show no errors themselves: the gateway's message about each, under its label.
 * @returns undefined if the error does not concern any field of the form
 */
export function labelledError(
  error: { data: Record<string, unknown> },
  form: { elements: { namedItem(name: string): unknown } },
): string | undefined {
  const members = (error.data.members ?? []) as { member: string; reason: string }[]
  const faults = [
    ...Object.entries(fieldErrors(error)),
    ...members.map(({ member, reason }) => [member, reason] as const),
  ]
  const texts = faults.map(([field, reason]) => {
    const element = form.elements.namedItem(field) as Partial<HTMLInputElement> | null
    const label = element?.labels?.[0]?.textContent?.replace('*', '').trim()
    return label === undefined ? undefined : `${label}: ${reason.replace(/\.?$/, '.')}`
  })
  return texts.length > 0 && !texts.includes(undefined) ? texts.join(' ') : undefined
}

interface Field {
  type: string
  value: string
  defaultValue: string
  checked?: boolean
  defaultChecked?: boolean
  readOnly?: boolean
  disabled: boolean
}

/** True if a field of a form has a different value from the one that it was shown with. */
export function isChanged(form: { elements: ArrayLike<unknown> }): boolean {
  return Array.from(form.elements as ArrayLike<Partial<Field>>).some((field) => {
    if (field.disabled || field.readOnly || field.defaultValue === undefined) return false
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked
    return field.value !== field.defaultValue
  })
}

/** The form's current fields count as saved. */
export function markSaved(form: { elements: ArrayLike<unknown> }): void {
  for (const field of Array.from(form.elements as ArrayLike<Partial<Field>>)) {
    if (field.defaultValue === undefined || field.value === undefined) continue
    field.defaultValue = field.value
    if (field.checked !== undefined) field.defaultChecked = field.checked
  }
}

/**
 * Parses a limit of requests per second.
 * @returns null for an empty field; undefined if the text is not a whole number below a million
 */
export function parseQpsInput(typed: string | undefined): number | null | undefined {
  if (typed === undefined) return null
  return /^\d{1,6}$/.test(typed) ? Number(typed) : undefined
}
