export interface Forecast {
  /** Whole days that the money lasts. */
  days: number
  /** The days whose average spend was used. */
  basis: number
}

/**
 * Forecasts how long the money lasts at the average daily spend since the first sale of the period. Days before a dealer's
 * first sale would make the forecast too long. undefined if nothing was spent. Refunds can make a day's spend negative;
 * only the sum counts.
 */
export function forecastDays(available: number, spendPerDay: readonly number[]): Forecast | undefined {
  const first = spendPerDay.findIndex((amount) => amount !== 0)
  const counted = first === -1 ? [] : spendPerDay.slice(first)
  const spent = counted.reduce((sum, amount) => sum + amount, 0)
  if (spent <= 0) return undefined
  return { days: Math.max(0, Math.floor((available * counted.length) / spent)), basis: counted.length }
}
