import fc from 'fast-check'
import { OFF_SALE, type OrderInput, PACKAGES, TOP_UPS } from './model.ts'

/** One action in a sequence. */
export type Step =
  | { do: 'top up'; reference: string; amount: bigint }
  | { do: 'limit'; creditLimit: bigint; dailySpendLimit: bigint | null }
  | { do: 'request'; request: DealerRequest /** How many times the body is sent concurrently. */; calls: number }
  /** A request during which the gateway or its connections are killed, `afterMs` after it was sent. */
  | Crash

/** `esim` is an index into the list of delivered eSIMs, modulo its length; no request is sent while the list is empty. */
type DealerRequest =
  | { kind: 'order'; input: OrderInput }
  | { kind: 'topup'; transactionId: string; esim: number; packageCode: keyof typeof TOP_UPS }
  | { kind: 'cancel'; transactionId: string; esim: number }
export type RequestStep = Extract<Step, { request: DealerRequest }>
type Crash = {
  do: 'kill' | 'cut'
  request: DealerRequest
  calls: number
  afterMs: number
  next: string | null
}

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
  'action.after-attempt',
  'sandbox.acted',
  'action.after-call',
  'action.before-outcome-commit',
  'action.after-outcome',
]

// Few of each, so that values repeat.
const transactionId = fc.constantFrom('T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7', 'T8')
const input: fc.Arbitrary<OrderInput> = fc.record({
  transactionId,
  lines: fc.uniqueArray(
    fc.record({
      packageCode: fc.constantFrom(...(Object.keys(PACKAGES) as (keyof typeof PACKAGES)[]), OFF_SALE),
      count: fc.integer({ min: 1, max: 3 }),
    }),
    { selector: (line) => line.packageCode, minLength: 1, maxLength: 2 },
  ),
  isMisquoted: fc.nat({ max: 7 }).map((chance) => chance === 0),
})
const esim = fc.nat({ max: 3 })
const request: fc.Arbitrary<DealerRequest> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('order' as const), input }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('topup' as const),
      transactionId,
      esim,
      packageCode: fc.constantFrom(...(Object.keys(TOP_UPS) as (keyof typeof TOP_UPS)[])),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), transactionId, esim }) },
)
const calls = fc.integer({ min: 1, max: 3 })

const everyday: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('top up' as const),
      reference: fc.constantFrom('R1', 'R2', 'R3', 'R4'),
      amount: fc.bigInt({ min: 1n, max: 30n }),
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
  { weight: 10, arbitrary: fc.record({ do: fc.constant('request' as const), request, calls }) },
)

const pausePoint = fc
  .record({ name: fc.constantFrom(...PAUSE_POINTS), passes: fc.integer({ min: 1, max: 2 }) })
  .map(({ name, passes }): string => `${name}:kill:${passes}`)

const calamity: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('kill' as const, 'kill' as const, 'cut' as const),
  request,
  calls,
  afterMs: fc.integer({ min: 0, max: 25 }),
  next: fc.option(pausePoint, { nil: null }),
})

/** Ordinary steps, including one crash. */
export const sequences: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.array(everyday, { minLength: 3, maxLength: 10 }),
    calamity,
    fc.array(everyday, { minLength: 3, maxLength: 10 }),
  )
  .map(([before, died, after]) => [...before, died, ...after])
