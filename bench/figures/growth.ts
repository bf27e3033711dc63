import { compare, compareOnce, formatValue, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { PATHS, type Path } from '../growth/operations.ts'
import { createSmallSide, openLargeSide, type Side } from '../growth/side.ts'

const SMALL = 10_000
/** Calls of one path in one round. */
const CALLS = 200
const TIME_AIM = 1.2
const BUFFERS_AIM = 1.5
/** A proof reads tiles on each level of the tree: five at 2 500 000 entries, three at 5 000, whose table is small enough to be read whole. */
const LEDGER_BUFFERS_AIM = 5

export const growth: Figure = {
  name: 'growth',
  summary: 'p50 and buffers of each path at 5 000 000 orders, half of them one dealer’s, against 10 000',
  async run(bench) {
    const large = await openLargeSide(bench)
    const small = await createSmallSide(bench, SMALL)
    try {
      const times: Result[] = []
      for (const path of PATHS) times.push(await compareTimes(bench, path, large, small))
      times[0]!.notes.push(...large.notes, ...small.notes, 'on both sides indexes were built after the rows')
      const buffers: Result[] = []
      for (const path of PATHS) buffers.push(await compareBuffers(bench, path, large, small))
      return [...times, ...buffers]
    } finally {
      await Promise.all([large.close(), small.close()])
    }
  },
}

async function compareTimes(bench: Environment, path: Path, large: Side, small: Side): Promise<Result> {
  for (const side of [large, small]) await side.p50Ms(path, CALLS) // warm
  return compare({
    name: `growth: ${path}`,
    what: `p50 in ms at ${bench.orders} orders, half of them this dealer's, against ${SMALL}`,
    aim: { max: TIME_AIM },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => large.p50Ms(path, CALLS),
    against: () => small.p50Ms(path, CALLS),
  })
}

async function compareBuffers(bench: Environment, path: Path, large: Side, small: Side): Promise<Result> {
  const [ours, against] = [await large.buffers(path), await small.buffers(path)]
  bench.progress(`growth: ${path}: ${formatValue(ours)} shared buffers against ${formatValue(against)}`)
  return compareOnce({
    name: `growth: ${path}, buffers`,
    what: 'shared buffers that a call touches, hit or read, counted by the server for one connection',
    aim: { max: path.startsWith('ledger/') ? LEDGER_BUFFERS_AIM : BUFFERS_AIM },
    ours,
    against,
  })
}
