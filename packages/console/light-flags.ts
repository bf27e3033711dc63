import type { Plugin } from 'vite'

/** Flags are drawn on 513 × 342 units and shown in 18 × 12 pixels: decimals are a quarter of their bytes, and invisible. */
export function roundFlags(): Plugin {
  return {
    name: 'round-flags',
    apply: 'build',
    transform(code, id) {
      if (!FLAG.test(id) || code.includes('transform=')) return null
      return { code: code.replace(DRAWN, roundNumbers), map: null }
    },
  }
}

const FLAG = /country-flag-icons[\\/]string[\\/]3x2[\\/]/
/** The path of a line without arcs, whose flags have no space between them: "011.5" is 0, 1 and 1.5. */
const DRAWN = /(?<= d=\\?")[^"aA\\]+(?=\\?")/g

/** "m47.8 138.9-4-12.8" becomes "m48 139-4-13". */
export function roundNumbers(drawn: string): string {
  return drawn.replace(/-?\d*\.\d+/g, (number, at: number) => {
    const rounded = String(Math.round(Number(number)))
    // ".5.5" is two numbers.
    return /[\d.]/.test(drawn[at - 1] ?? '') && !rounded.startsWith('-') ? ` ${rounded}` : rounded
  })
}
