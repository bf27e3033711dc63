import { formatMoney, MalformedMoney, parseMoney } from '@dealer-esim/contract'

/** What a person typed as money, in 1/10 000; where it is none, the contract's sentence, which says how to write it. */
export function parseMoneyInput(typed: string): { amount: number } | { error: string } {
  try {
    return { amount: Number(parseMoney(typed.trim())) }
  } catch (error) {
    if (error instanceof MalformedMoney) return { error: error.message }
    throw error
  }
}

/** 1/10 000 as it would be typed; nothing where there is no amount. */
export function formatMoneyInput(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? '' : formatMoney(amount)
}

/** The texts of a form by the names of its fields; empty ones are left out. */
export function formFields(form: HTMLFormElement): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value !== '') fields[name] = value
  }
  return fields
}
