/** How the two sides of a result are measured, each with its explanation in RESULTS.md. */
export const METHODS = {
  'in turn': 'both sides in each round, in alternating order',
  'baseline first':
    'all rounds of the baseline, then all of ours, so the ratio includes any change of the machine in between',
  'against a limit': 'ours in each round, against a fixed number',
  'counted once': 'each side once, because counts do not vary',
} as const
type Method = keyof typeof METHODS

/** One row of the results: a ratio of two measurements in one run on one machine. */
export interface Result {
  name: string
  /** The two measurements and their unit. */
  what: string
  measured: Method
  aim: string
  ratio: Spread
  ours: Spread
  against: Spread
  /** True if the median meets the aim; undefined without an aim. */
  met: boolean | undefined
  /** Checks made during the run (all acknowledged rows exist), settings, further figures. */
  notes: string[]
}

export interface Spread {
  median: number
  min: number
  max: number
}

export interface Aim {
  min?: number
  max?: number
}

export interface Comparison {
  name: string
  what: string
  aim: Aim
  rounds: number
  /** How often a round measures each side, alternately, so that a disturbance of seconds affects both. Default 1. */
  turnsPerRound?: number
  /** One measurement of round n. Larger is better if the aim has a `min`, smaller if it has a `max`. */
  ours(round: number): Promise<number>
  /** The baseline: measured alternately with ours, or the values of rounds measured earlier, or a fixed limit. */
  against: ((round: number) => Promise<number>) | readonly number[] | number
  progress(line: string): void
  notes?: string[]
}

interface Pair {
  ours: number
  against: number
}

/** Measures both sides, in alternating order, and reports each pair. */
export async function compare(comparison: Comparison): Promise<Result> {
  const { name, rounds, turnsPerRound = 1, against } = comparison
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    const measurements: Pair[] = []
    for (let turn = 0; turn < turnsPerRound; turn++)
      measurements.push(await measure(comparison, round, (round + turn) % 2 === 0))
    const mean = comparison.aim.min === undefined ? meanOfTimes : meanOfRates
    const pair = {
      ours: mean(measurements.map(({ ours }) => ours)),
      against: mean(measurements.map(({ against }) => against)),
    }
    pairs.push(pair)
    const ratio = (pair.ours / pair.against).toFixed(2)
    comparison.progress(
      `${name}: round ${round + 1} of ${rounds}: ${formatValue(pair.ours)} against ${formatValue(pair.against)}, ratio ${ratio}`,
    )
  }
  const measured =
    typeof against === 'function' ? 'in turn' : typeof against === 'number' ? 'against a limit' : 'baseline first'
  return resultOf({ ...comparison, measured, notes: comparison.notes ?? [] }, pairs)
}

async function measure({ ours, against }: Comparison, round: number, oursFirst: boolean): Promise<Pair> {
  if (typeof against === 'number') return { ours: await ours(round), against }
  if (typeof against !== 'function') return { ours: await ours(round), against: against[round] ?? Number.NaN }
  const first = await (oursFirst ? ours : against)(round)
  const second = await (oursFirst ? against : ours)(round)
  return oursFirst ? { ours: first, against: second } : { ours: second, against: first }
}

function meanOfTimes(times: readonly number[]): number {
  return times.reduce((sum, time) => sum + time, 0) / times.length
}

/** The mean rate of turns with the same amount of work: total work divided by total time. */
function meanOfRates(rates: readonly number[]): number {
  return 1 / meanOfTimes(rates.map((rate) => 1 / rate))
}

/** Compares two counts, which do not vary from round to round. */
export function compareOnce(counted: {
  name: string
  what: string
  aim: Aim
  ours: number
  against: number
  notes?: string[]
}): Result {
  return resultOf({ ...counted, measured: 'counted once', notes: counted.notes ?? [] }, [counted])
}

function resultOf(
  { name, what, measured, aim, notes }: Pick<Result, 'name' | 'what' | 'measured' | 'notes'> & { aim: Aim },
  pairs: Pair[],
): Result {
  const ratio = spread(pairs.map((pair) => pair.ours / pair.against))
  const { min, max } = aim
  return {
    name,
    what,
    measured,
    aim: min === undefined ? (max === undefined ? '' : `≤ ${max}`) : `≥ ${min}`,
    ratio,
    ours: spread(pairs.map((pair) => pair.ours)),
    against: spread(pairs.map((pair) => pair.against)),
    met: min === undefined ? (max === undefined ? undefined : ratio.median <= max) : ratio.median >= min,
    notes,
  }
}

function spread(values: number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  return percentile(sorted, 0.5)
}

/** @param sorted in ascending order */
export function percentile(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Follows a figure that has an aim. */
export function checkMark(met: boolean | undefined): string {
  return met === undefined ? '' : met ? ' ✓' : ' ✗'
}

export function formatValue(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3)
}
