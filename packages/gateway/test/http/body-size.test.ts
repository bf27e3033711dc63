import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let database: TestDatabase
let node: Node
let dealer: Dealer
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  dealer = await addDealer(node.deps)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** An empty object, padded with spaces to this size. */
const sized = async (bytes: number) => (await call(node, dealer, 'health', { body: '{}'.padEnd(bytes, ' ') })).code

it('a body of 256 KiB is accepted, and one byte more is refused', async () => {
  expect([await sized(256 * 1024), await sized(256 * 1024 + 1)]).toEqual(['000000', '000111'])
})
