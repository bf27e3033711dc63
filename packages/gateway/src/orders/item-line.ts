import type { PackageLine } from './decide.ts'

/** The line that an item is of: items are numbered from 1 through the lines, in their order (orders/write.ts). */
export function lineOfItem(lines: readonly PackageLine[], itemNo: number): PackageLine {
  let last = 0
  for (const line of lines) {
    last += line.count
    if (itemNo <= last) return line
  }
  throw new Error(`an order of ${last} eSIMs has no item ${itemNo}`)
}
