/** Random numbers that are the same for the same seed. */
export interface SeededRandom {
  /** Both limits are inclusive. */
  between(least: number, most: number): number
  pick<Value>(values: readonly Value[]): Value
  shuffled<Value>(values: readonly Value[]): Value[]
}

/** mulberry32, which is good enough for choosing moments. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const chance: SeededRandom = {
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (values) => values[chance.between(0, values.length - 1)]!,
    shuffled(values) {
      const rest = [...values]
      return values.map(() => rest.splice(chance.between(0, rest.length - 1), 1)[0]!)
    },
  }
  return chance
}
