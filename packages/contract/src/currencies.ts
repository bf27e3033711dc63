/** True for a currency of ISO 4217 that is in use, such as USD. */
export function isCurrency(code: string): boolean {
  known ??= new Set(Intl.supportedValuesOf('currency'))
  return known.has(code)
}

let known: ReadonlySet<string> | undefined

export const CURRENCY_ADVICE = 'This is not an ISO 4217 currency: use a code such as USD or EUR.'

/** Money units (1/10 000) in one whole unit of a currency. */
export const WHOLE_UNIT = 10_000n

/**
 * True for currencies that people write without decimal places. A list, not Intl, because an amount must mean the same on every
 * node and in every browser. A test compares it with Intl.
 */
export function hasNoMinorUnit(currencyCode: string): boolean {
  return WHOLE_ONLY.has(currencyCode)
}

const WHOLE_ONLY: ReadonlySet<string> = new Set([
  ...[
    'AFN',
    'ALL',
    'BIF',
    'CLP',
    'COP',
    'DJF',
    'GNF',
    'HUF',
    'IDR',
    'IQD',
    'IRR',
    'ISK',
    'JPY',
    'KMF',
    'KPW',
    'KRW',
    'LAK',
  ],
  ...['LBP', 'MGA', 'MMK', 'PKR', 'PYG', 'RWF', 'SLL', 'SOS', 'SYP', 'UGX', 'VND', 'VUV', 'XAF', 'XOF', 'XPF', 'YER'],
])

/** @returns what is wrong with a typed amount of a currency without a minor unit; undefined: it is whole, or need not be */
export function findFraction(amount: bigint | number, currencyCode: string): string | undefined {
  if (!hasNoMinorUnit(currencyCode) || BigInt(amount) % WHOLE_UNIT === 0n) return undefined
  return `${currencyCode} has no decimal places: write a whole amount, such as 450.`
}
