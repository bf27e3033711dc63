import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSimulator } from '@dealer-esim/wholesaler-simulators'
import { expect, it, onTestFinished } from 'vitest'
import { createAuthority } from '#test/harness/servers/certificates.ts'

async function buyAt({ url, credentials }: Awaited<ReturnType<typeof createSimulator>>) {
  await fetch(`${url}/esim/purchases`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${credentials.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ transactionId: 'T-1', offerId: 'ESIM-US-7D-1GB-0' }),
  })
}

it('a simulator sends its events to a gateway that terminates TLS with its own certificate', async () => {
  const received: string[] = []
  const gateway = createServer(createAuthority('Own authority').issue('localhost'), async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push(body)
    response.end()
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  const eventsUrl = `https://127.0.0.1:${(gateway.address() as AddressInfo).port}/suppliers/z/events`
  const simulator = await createSimulator('zendit', { eventsUrl })
  onTestFinished(async () => {
    await simulator.close()
    gateway.close()
  })
  await buyAt(simulator)
  await expect.poll(() => received.length).toBe(1)
  expect(simulator.events()).toMatchObject([{ status: 200 }])
})

it.each(['ftp://127.0.0.1/', 'https://127.0.0.1:1/', 'no url'])(
  'an event to %s ends without an answer, and the simulator keeps running',
  async (eventsUrl) => {
    const simulator = await createSimulator('zendit', { eventsUrl })
    onTestFinished(() => simulator.close())
    await buyAt(simulator)
    await expect.poll(() => simulator.events()).toMatchObject([{ sent: 1, status: null }])
  },
)
