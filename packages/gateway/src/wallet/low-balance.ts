/** Percent of the threshold at which a notice is given, deepest first. */
const STEPS = [10n, 50n, 75n, 100n] as const

/** The deepest step that the balance has fallen below, in percent of the threshold; 0 when above it or there is none. */
export function lowBalanceStep(balance: bigint, threshold: bigint | null): number {
  if (threshold === null) return 0
  return Number(STEPS.find((step) => balance * 100n < threshold * step) ?? 0n)
}

/**
 * A change of step is worth an alert only on the way down. wallets.low_balance_alerted_percent takes the new step either
 * way, so that each crossing is told of once and a top-up arms the steps above it again.
 */
export function isDeeper(step: number, before: number): boolean {
  return step !== 0 && (before === 0 || step < before)
}
