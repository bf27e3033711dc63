import { expect, it } from 'vitest'
import { askBySupplier } from './ask-by-supplier.ts'

const rows = ['hangs', 'answers', 'hangs', 'answers'].map((supplier, number) => ({ supplier, number }))

it('a supplier that hangs does not delay the others, and is queried only once', async () => {
  let nowMs = 0
  const asked: string[] = []
  let end = () => {}
  const pass = askBySupplier({ monotonic: () => nowMs }, rows, ({ supplier, number }) => {
    asked.push(`${supplier} ${number}`)
    return supplier === 'hangs' ? new Promise<void>((resolve) => (end = resolve)) : Promise.resolve()
  })
  await new Promise(setImmediate)
  expect(asked).toEqual(['hangs 0', 'answers 1', 'answers 3'])
  nowMs = 20_000
  end()
  await pass
  expect(asked).toHaveLength(3)
})

it('a supplier that answers in time is queried about all its rows', async () => {
  const asked: number[] = []
  await askBySupplier({ monotonic: () => 0 }, rows, async ({ number }) => void asked.push(number))
  expect(asked.sort()).toEqual([0, 1, 2, 3])
})
