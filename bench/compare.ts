/** One row of the results: a ratio of two things measured in turn, in one run, on one machine. */
export interface Result {
  name: string
  /** What the ratio is of, in words, with the unit. */
  what: string
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
  against(round: number): Promise<number>
  progress(line: string): void
  notes?: string[]
}

interface Pair {
  ours: number
  against: number
}

/** Measures the two alternately (the order changes each time) and reports the ratio pair by pair. */
export async function compare(comparison: Comparison): Promise<Result> {
  const { name, rounds, turns = 1 } = comparison
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
  return resultOf({ ...comparison, notes: comparison.notes ?? [] }, pairs)
}

async function measure(comparison: Comparison, round: number, oursFirst: boolean): Promise<Pair> {
  const first = await (oursFirst ? comparison.ours : comparison.against)(round)
  const second = await (oursFirst ? comparison.against : comparison.ours)(round)
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
  return resultOf({ ...counted, notes: counted.notes ?? [] }, [counted])
}

function resultOf(
  { name, what, aim, notes }: Pick<Result, 'name' | 'what' | 'notes'> & { aim: Aim },
  pairs: Pair[],
): Result {
  const ratio = spread(pairs.map((pair) => pair.ours / pair.against))
  const { least, most } = aim
  return {
    name,
    what,
    aim: least === undefined ? (most === undefined ? '' : `≤ ${most}`) : `≥ ${least}`,
    ratio,
    ours: spread(pairs.map((pair) => pair.ours)),
    against: spread(pairs.map((pair) => pair.against)),
    met: least === undefined ? (most === undefined ? undefined : ratio.median <= most) : ratio.median >= least,
    notes,
  }
}

function spread(values: number[]): Spread {
  const sorted = [...values].sort((left, right) => left - right)
  return { median: percentile(sorted, 0.5), min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Of values in ascending order. */
export function percentile(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function show(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3)
}
