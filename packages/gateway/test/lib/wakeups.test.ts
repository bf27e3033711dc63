import { createWakeups, type Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { afterAll, beforeAll, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/database-proxies.ts'
import { waitUntil } from '../harness/shop.ts'

let database: TestDatabase
let proxy: TcpProxy
const wakes: Wakeups[] = []

function join(url: string, nodeId: string): Wakeups {
  const wake = createWakeups({ url, nodeId, onError: () => {} })
  wakes.push(wake)
  return wake
}

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
})
afterAll(async () => {
  await Promise.all(wakes.map((wake) => wake.stop()))
  await proxy.close()
  await database.drop()
})

it('a node whose database died silently sends and receives wakeups again after the next one', async () => {
  const [near, far] = [join(database.url, 'near'), join(proxy.url, 'far')]
  const heard = { near: 0, far: 0 }
  near.on('webhooks', () => heard.near++)
  far.on('settings', () => heard.far++)
  const wakes = async (from: Wakeups, topic: 'webhooks' | 'settings', to: 'near' | 'far') => {
    const before = heard[to]
    await waitUntil(async () => {
      from.wake(topic)
      return heard[to] > before
    })
  }
  await wakes(near, 'settings', 'far')
  await wakes(far, 'webhooks', 'near')
  proxy.freezeAll()
  await wakes(far, 'webhooks', 'near')
  await wakes(near, 'settings', 'far')
}, 30_000)

it('a node that begins to listen wakes its loops, because it has missed earlier wakeups', async () => {
  const late = join(database.url, 'late')
  const topics = ['settings', 'stock'] as const
  const woken = topics.map((topic) => new Promise<void>((resolve) => void late.on(topic, () => resolve())))
  await Promise.all(woken)
})
