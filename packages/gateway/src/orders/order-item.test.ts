import { expect, it } from 'vitest'
import { lineOfItem } from './order-item.ts'

const line = (packageCode: string, count: number) => ({ packageCode, packageName: packageCode, count, price: 1 })

it('each item of an order, from the first to the last, is assigned to its order line', () => {
  const lines = [line('A', 2), line('B', 1), line('C', 3)]
  const codes = [1, 2, 3, 4, 5, 6].map((itemNo) => lineOfItem(lines, itemNo).packageCode)
  expect(codes).toEqual(['A', 'A', 'B', 'C', 'C', 'C'])
  expect(() => lineOfItem(lines, 7)).toThrow('has no item 7')
})
