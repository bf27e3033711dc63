import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'

/** A reason to hold a catalogue until an operator accepts it. */
export type Doubt =
  | { kind: 'EMPTY' }
  /** More products are missing than usually disappear from a catalogue between two readings. */
  | { kind: 'SHORT'; known: number; missing: number }
  | { kind: 'COSTS_JUMP'; known: number; jumped: number; example: CostChange }
  | { kind: 'OTHER_CURRENCY'; products: number; example: CostChange }

interface CostChange {
  productCode: string
  before: Cost
  after: Cost
}

type Cost = Pick<SupplierProduct, 'cost' | 'currencyCode'>

/** If more than a fifth of the products are missing, the catalogue is held. */
const MISSING_MAX = { of: 5 }
/** If more than a tenth of the costs have jumped, the catalogue is held. */
const JUMPED_MAX = { of: 10 }
/** A cost that rises or falls by more than this factor is more often a mistake than a new price. */
const JUMP_FACTOR = 3n

/**
 * Compares a catalogue with the products that the supplier listed before. Pure.
 * @param kept how many of these stay as they were because their entry is unreadable
 * @returns no doubts if the catalogue is plausible; a first catalogue is plausible unless it is empty
 */
export function findDoubts(
  known: ReadonlyMap<string, SupplierProduct>,
  answer: readonly SupplierProduct[],
  kept = 0,
): Doubt[] {
  if (answer.length === 0) return [{ kind: 'EMPTY' }]
  const doubts: Doubt[] = []
  const changes = answer.flatMap((after): CostChange[] => {
    const before = known.get(after.productCode)
    return before === undefined ? [] : [{ productCode: after.productCode, before, after }]
  })
  const missing = known.size - changes.length - kept
  if (missing * MISSING_MAX.of > known.size) doubts.push({ kind: 'SHORT', known: known.size, missing })
  const moved = changes.filter(({ before, after }) => before.currencyCode !== after.currencyCode)
  if (moved[0]) doubts.push({ kind: 'OTHER_CURRENCY', products: moved.length, example: moved[0] })
  const jumped = changes.filter(isJump)
  if (jumped[0] && jumped.length * JUMPED_MAX.of > changes.length) {
    doubts.push({ kind: 'COSTS_JUMP', known: changes.length, jumped: jumped.length, example: jumped[0] })
  }
  return doubts
}

function isJump({ before, after }: CostChange): boolean {
  if (before.currencyCode !== after.currencyCode) return false
  return after.cost > before.cost * JUMP_FACTOR || after.cost * JUMP_FACTOR < before.cost
}
