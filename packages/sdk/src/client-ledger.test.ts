import { afterEach, expect, test } from 'vitest'
import { type FakeGateway, fakeGateway, ok } from '../test/fake-gateway.ts'
import { DealerEsim } from './client.ts'

let gateway: FakeGateway | undefined
afterEach(() => gateway?.close())

test('the methods of the ledger call their operations with their requests', async () => {
  gateway = await fakeGateway((operation, body) => ok({ operation, body }))
  const esim = new DealerEsim(gateway)
  const [proof, sizes] = [
    { entryNo: '1', treeSize: 1 },
    { fromSize: 1, toSize: 2 },
  ]
  expect(await esim.checkpoint()).toEqual({ operation: 'ledger/checkpoint', body: {} })
  expect(await esim.checkpoint({ treeSize: 0 })).toMatchObject({ body: { treeSize: 0 } })
  expect(await esim.proof(proof)).toEqual({ operation: 'ledger/proof', body: proof })
  expect(await esim.consistency(sizes)).toEqual({ operation: 'ledger/consistency', body: sizes })
  expect(await esim.ledgerKeys()).toEqual({ operation: 'ledger/keys', body: {} })
})
