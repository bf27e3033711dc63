/**
 * How many whole days the money lasts if each day costs as much as those of the period did on average. undefined if
 * nothing was spent. Refunds of earlier orders can make a day's spend negative; only the sum counts.
 */
export function daysLeft(available: number, spendPerDay: readonly number[]): number | undefined {
  const spent = spendPerDay.reduce((sum, amount) => sum + amount, 0)
  if (spent <= 0) return undefined
  if (available <= 0) return 0
  return Math.floor((available * spendPerDay.length) / spent)
}
