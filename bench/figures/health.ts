import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { compare } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { requireSuccess, sendAll, signedRequest } from '../load.ts'

const REQUESTS = 20_000
const CONNECTIONS = 64

export const health: Figure = {
  name: 'health',
  summary: 'signed health requests/s through the whole dealer API, against a bare node:http server',
  async run(bench) {
    const gateway = await bench.startApi()
    const [tenant] = await bench.createTenants(1)
    const answer = { status: 'UP', tenantId: tenant!.tenantId, clientName: 'Bench dealer 0' }
    const bare = await startBareServer(JSON.stringify({ code: '000000', message: 'success', data: answer }))
    const measure = async (baseUrl: string) => {
      const requests = Array.from({ length: REQUESTS }, () => signedRequest(tenant!, 'health', '{}'))
      return requireSuccess(await sendAll(baseUrl, requests, CONNECTIONS)).perSecond
    }
    await measure(gateway.baseUrl) // warm
    await measure(bare.baseUrl)
    const result = await compare({
      name: 'health',
      what: `signed health requests/s, ${CONNECTIONS} connections, against a bare node:http server that parses the body and answers the same bytes`,
      aim: { min: 0.35 },
      rounds: bench.rounds,
      progress: bench.progress,
      ours: () => measure(gateway.baseUrl),
      against: () => measure(bare.baseUrl),
      notes: ['each request has its own RequestID, which is entered in the database, and passes the QPS bucket'],
    })
    bare.stop()
    await gateway.stop()
    return [result]
  },
}

async function startBareServer(answer: string): Promise<{ baseUrl: string; stop(): void }> {
  const child = fork(fileURLToPath(new URL('../bare-server.mjs', import.meta.url)), [answer], { execArgv: [] })
  const [port] = (await once(child, 'message')) as [number]
  return { baseUrl: `http://127.0.0.1:${port}`, stop: () => void child.kill() }
}
