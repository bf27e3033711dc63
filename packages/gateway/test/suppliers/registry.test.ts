import { setTimeout as delay } from 'node:timers/promises'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { loadSuppliers } from '#suppliers/supplier-registry.ts'
import { openShop } from '../harness/open-shop.ts'
import { addSupplier, type Shop } from '../harness/shop.ts'

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop?.close())

it('a new supplier stays known when an older list of suppliers arrives late', async () => {
  let release = () => {}
  let isHeld = false
  const query = async (statement: Parameters<Db['query']>[0]) => {
    const rows = await shop.db.query(statement)
    if (isHeld) await new Promise<void>((resolve) => (release = resolve))
    return rows
  }
  const outbound = createOutbound()
  onTestFinished(() => outbound.close())
  const suppliers = await loadSuppliers({ ...shop, outbound, db: { ...shop.db, query } as Db })
  isHeld = true
  const earlier = suppliers.refresh()
  await delay(100) // the earlier list has been read
  isHeld = false
  await addSupplier(shop, 'shelf', 'stock')
  const later = suppliers.refresh()
  await delay(100) // a later list that does not wait has been read too
  release()
  await Promise.all([earlier, later])
  expect(suppliers.get('shelf')?.supplier.type).toBe('stock')
})
