import { afterAll, beforeAll, expect, it } from 'vitest'
import { localDays } from '../../src/console-api/local-days.ts'
import { addPackage, payOrders } from '../harness/shop.ts'
import { addTenant, type ConsoleApp, signedInAs, startConsole } from './console-app.ts'

let room: ConsoleApp
beforeAll(async () => {
  room = await startConsole()
})
afterAll(() => room.stop())

it('counts a day’s orders as the list of that day has them, wherever the reader is', async () => {
  const tenantId = await addTenant(room, 'Far and wide')
  await addPackage(room.db, 'JP', [])
  await payOrders(room.db, tenantId, 'JP', { orders: 3 })
  const dealer = await signedInAs(room, 'DEALER_STAFF', tenantId)
  // Fourteen hours ahead and eleven behind: whatever the hour, their days differ.
  const days: string[] = []
  for (const timeZone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    const { body } = await dealer.call('GET', `/dashboard?days=2&timeZone=${timeZone}`)
    const today = body.days.at(-1)
    expect(body.orders).toMatchObject([{ day: today, orders: 3 }])
    expect(body.sales).toMatchObject([{ day: today, currencyCode: 'USD', amount: 30_000 }])
    const [{ startsAt } = {}] = localDays(room.clock.time_ms, 1, timeZone)
    const list = await dealer.call('GET', `/orders?from=${startsAt?.toISOString()}`)
    expect(list.body.orders).toHaveLength(3)
    days.push(today)
  }
  expect(days[0]).not.toBe(days[1])
})

it('says that a time zone is unknown', async () => {
  const { window } = await signedInAs(room, 'OPERATOR_STAFF')
  expect(await window.call('GET', '/dashboard?timeZone=Mars/Olympus')).toMatchObject({
    status: 422,
    body: { code: 'TIME_ZONE_UNKNOWN' },
  })
})
