import { type ChildProcess, type ExecFileException, execFile } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import { temporaryFolder } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { expect, onTestFinished, test } from 'vitest'
import { type LocalGateway, root } from '../local-gateway.ts'
import { startCuttingProxy } from './proxies.ts'

export interface Shop {
  start(port: number, env: Record<string, string>): ChildProcess
  settle(env: Record<string, string>): Promise<Outcome>
}

/** What every example shop does, whatever its framework. */
export function testShop(gateway: () => LocalGateway, shop: Shop): void {
  test('orders at checkout, loses nothing when the answer is lost, and keeps what events report', async () => {
    const { credentials } = gateway()
    const esim = new DealerEsim(credentials)
    const proxy = await startCuttingProxy(credentials.baseUrl, 1)
    const port = await freePort()
    const folder = temporaryFolder('shop')
    const env = { DEALER_ESIM_BASE_URL: proxy.baseUrl, SHOP_DATABASE: join(folder, 'shop.sqlite3') }
    const server = shop.start(port, env)
    const before = await esim.setWebhook()
    onTestFinished(async () => {
      server.kill()
      proxy.close()
      await esim.setWebhook({ callbackUrl: before.callbackUrl, enabled: before.enabled })
    })
    const url = `http://127.0.0.1:${port}`
    await expect
      .poll(() =>
        fetch(`${url}/checkout`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(405)

    const checkout = async () => {
      const body = new URLSearchParams({ packageCode: 'JP_1_7' })
      const answer = await fetch(`${url}/checkout`, { method: 'POST', body })
      return (await answer.json()) as { transactionId: string; status: string }
    }
    const lost = await checkout()
    expect(lost.status).toBe('UNKNOWN')
    // The gateway has the order, although its answer was lost.
    await expect.poll(() => esim.query({ transactionId: lost.transactionId }).catch(() => undefined)).toBeDefined()
    const settled = await shop.settle(env)
    expect([settled.code, settled.out]).toEqual([0, expect.stringContaining(lost.transactionId)])
    expect(settled.out).not.toContain('UNKNOWN')
    expect((await shop.settle(env)).out, 'nothing is left to settle').toBe('')
    const entries: string[] = []
    for await (const { transactionId } of esim.eachEntry({ kind: 'ORDER' })) entries.push(transactionId ?? '')
    expect(entries.filter((each) => each === lost.transactionId)).toHaveLength(1)

    await esim.setWebhook({ callbackUrl: `${url}/esim-events`, enabled: true })
    const { transactionId, status } = await checkout()
    expect(status).toMatch(/^(PAID|ALLOCATING|DELIVERED)$/)
    await expect.poll(() => statusOf(env.SHOP_DATABASE, transactionId)).toBe('DELIVERED')
    const forged = await fetch(`${url}/esim-events`, { method: 'POST', body: '{}' })
    expect(forged.status).toBe(401)
  })
}

async function statusOf(database: string, transactionId: string): Promise<string> {
  const script =
    'import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute("select status from purchases where transaction_id = ?", sys.argv[2:]).fetchone()[0])'
  const { out } = await run('/usr/bin/python3', ['-c', script, database, transactionId])
  return out.trim()
}

export interface Outcome {
  code: number
  out: string
  err: string
}

export function run(file: string, args: string[], env: NodeJS.ProcessEnv = {}, cwd = root): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, cwd, timeout: 60_000 }
    execFile(file, args, options, (error: ExecFileException | null, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    )
  })
}
