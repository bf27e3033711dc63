import fc from 'fast-check'
import { OFF_SALE, type OrderInput, PACKAGES } from './model.ts'

/** One action of a sequence. */
export type Step =
  | { do: 'top up'; reference: string; amount: bigint }
  | { do: 'limit'; creditLimit: bigint; dailySpendLimit: bigint | null }
  | OrderStep
  /** An order during which the gateway or its connections are killed, `afterMs` after it was sent. */
  | Crash

type OrderStep = { do: 'order'; input: OrderInput /** The same body at once. */; calls: number }
export type Crash = { do: 'kill' | 'cut'; input: OrderInput; calls: number; afterMs: number; next: string | null }

/** The failpoint at which the next gateway kills itself. */
const PAUSE_POINTS = [
  'orders.locked',
  'orders.before-commit',
  'orders.committed',
  'fulfilment.claimed',
  'fulfilment.before-attempt',
  'fulfilment.after-attempt',
  'fulfilment.before-call',
  'sandbox.issued',
  'fulfilment.after-call',
  'fulfilment.outcome-half-written',
  'fulfilment.before-outcome-commit',
  'fulfilment.after-outcome',
]

// Few of each, so that values repeat.
const input: fc.Arbitrary<OrderInput> = fc.record({
  transactionId: fc.constantFrom('T1', 'T2', 'T3', 'T4', 'T5', 'T6'),
  lines: fc.uniqueArray(
    fc.record({
      packageCode: fc.constantFrom(...(Object.keys(PACKAGES) as (keyof typeof PACKAGES)[]), OFF_SALE),
      count: fc.integer({ min: 1, max: 3 }),
    }),
    { selector: (line) => line.packageCode, minLength: 1, maxLength: 2 },
  ),
  isMisquoted: fc.nat({ max: 7 }).map((chance) => chance === 0),
})
const calls = fc.integer({ min: 1, max: 3 })

const everyday: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('top up' as const),
      reference: fc.constantFrom('R1', 'R2', 'R3', 'R4'),
      amount: fc.bigInt({ min: 1n, max: 20n }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      creditLimit: fc.bigInt({ min: 0n, max: 12n }),
      dailySpendLimit: fc.option(fc.bigInt({ min: 0n, max: 30n })),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('order' as const), input, calls }) },
)

const pausePoint = fc
  .record({ name: fc.constantFrom(...PAUSE_POINTS), passes: fc.integer({ min: 1, max: 2 }) })
  .map(({ name, passes }): string => `${name}:kill:${passes}`)

const calamity: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('kill' as const, 'kill' as const, 'cut' as const),
  input,
  calls,
  afterMs: fc.integer({ min: 0, max: 25 }),
  next: fc.option(pausePoint, { nil: null }),
})

/** Ordinary steps, with one crash among them. */
export const sequences: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.array(everyday, { minLength: 3, maxLength: 10 }),
    calamity,
    fc.array(everyday, { minLength: 3, maxLength: 10 }),
  )
  .map(([before, died, after]) => [...before, died, ...after])
