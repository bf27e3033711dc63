/** How the two sides of a result were measured: the word for it, and what the page says of that word. */
export const MEASURED = {
  'in turn': 'both sides in each round, and which of them comes first changes',
  'yardstick first':
    'all rounds of the yardstick, then all of ours, so that whatever changed on the machine in between is in the ratio',
  'against a limit': 'ours in each round, against a number that nobody measures',
  'counted once': 'each side once, as nothing of it is timed',
} as const
type Measured = keyof typeof MEASURED

/** One row of the results: a ratio of two things, in one run, on one machine. */
export interface Result {
  name: string
  /** What the ratio is of, in words, with the unit. */
  what: string
  measured: Measured
  aim: string
  ratio: Spread
  ours: Spread
  against: Spread
  /** Whether the median meets the aim; undefined where there is none. */
  met: boolean | undefined
  /** Checks made on the way (rows found equal successes claimed), settings, further figures. */
  notes: string[]
}

export interface Spread {
  median: number
  min: number
  max: number
}

export interface Aim {
  least?: number
  most?: number
}

export interface Comparison {
  name: string
  what: string
  aim: Aim
  rounds: number
  /** How often a round measures either side, in turn (1): what disturbs the machine for seconds should meet both. */
  turns?: number
  /** One measurement of round n; bigger is faster for rates, smaller for times: the aim says which is wanted. */
  ours(round: number): Promise<number>
  /** The same of the yardstick, in turn with ours; or what its rounds gave before; or a limit, which nobody measures. */
  against: ((round: number) => Promise<number>) | readonly number[] | number
  progress(line: string): void
  notes?: string[]
}

interface Pair {
  ours: number
  against: number
}

/** Measures the two, alternately where both are to be measured (the order changes each time), and reports pair by pair. */
export async function compare(comparison: Comparison): Promise<Result> {
  const { name, rounds, turns = 1, against } = comparison
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    const taken: Pair[] = []
    for (let turn = 0; turn < turns; turn++) taken.push(await measure(comparison, round, (round + turn) % 2 === 0))
    const mean = comparison.aim.least === undefined ? meanOfTimes : meanOfRates
    const pair = { ours: mean(taken.map(({ ours }) => ours)), against: mean(taken.map(({ against }) => against)) }
    pairs.push(pair)
    const ratio = (pair.ours / pair.against).toFixed(2)
    comparison.progress(
      `${name}: round ${round + 1} of ${rounds}: ${show(pair.ours)} against ${show(pair.against)}, ratio ${ratio}`,
    )
  }
  const measured =
    typeof against === 'function' ? 'in turn' : typeof against === 'number' ? 'against a limit' : 'yardstick first'
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

/** Of turns of as much work each: all of it by all of the time. */
function meanOfRates(rates: readonly number[]): number {
  return 1 / meanOfTimes(rates.map((rate) => 1 / rate))
}

/** Of two things that are counted and not timed: once is enough. */
export function single(counted: {
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
  const { least, most } = aim
  return {
    name,
    what,
    measured,
    aim: least === undefined ? (most === undefined ? '' : `≤ ${most}`) : `≥ ${least}`,
    ratio,
    ours: spread(pairs.map((pair) => pair.ours)),
    against: spread(pairs.map((pair) => pair.against)),
    met: least === undefined ? (most === undefined ? undefined : ratio.median <= most) : ratio.median >= least,
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

/** Of values in ascending order. */
export function percentile(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** What follows a figure that has an aim. */
export function mark(met: boolean | undefined): string {
  return met === undefined ? '' : met ? ' ✓' : ' ✗'
}

export function show(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3)
}
