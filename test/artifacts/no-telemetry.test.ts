import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  copyUsedDataDir,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, expect, test } from 'vitest'

afterAll(stopGateways)

/** Loaded before the gateway: notes where every connection goes, every name that is looked up and every datagram. */
const RECORDER = `
import dgram from 'node:dgram'
import dns from 'node:dns'
import { appendFileSync } from 'node:fs'
import net from 'node:net'
const note = (line) => appendFileSync(process.env.CONNECTIONS_FILE, line + '\\n')
const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) {
  const [first, host] = Array.isArray(args[0]) ? args[0] : args
  note('connect ' + (typeof first === 'object' ? (first.path ?? first.host + ':' + first.port) : host + ':' + first))
  return connect.apply(this, args)
}
for (const dnsModule of [dns, dns.promises])
  for (const name of Object.keys(dnsModule).filter((key) => /^(lookup|resolve)/.test(key))) {
    const original = dnsModule[name]
    dnsModule[name] = (host, ...rest) => (net.isIP(host) || note('name ' + host), original.call(dnsModule, host, ...rest))
  }
const { createSocket } = dgram
dgram.createSocket = (...args) => (note('datagrams'), createSocket(...args))
`

test('a gateway opens no connection that nobody has configured', async () => {
  const folder = temporaryFolder('telemetry')
  const [recorder, record] = [join(folder, 'recorder.mjs'), join(folder, 'connections')]
  writeFileSync(recorder, RECORDER)
  writeFileSync(record, '')
  const dataDir = join(folder, '.data')
  await copyUsedDataDir(dataDir)
  const gateway = await startGateway({
    dataDir,
    env: { NODE_OPTIONS: `--import=${recorder}`, CONNECTIONS_FILE: record },
  })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  const dealer = new DealerEsim({ baseUrl, appKey, appSecret })
  const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
  await dealer.order({ transactionId: 'TELEMETRY-1', packageInfoList })
  for (const path of ['/docs', '/docs/reference', '/console/'])
    expect((await fetch(`${baseUrl}${path}`)).status).toBe(200)

  const opened = () =>
    new Set(
      readFileSync(record, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    )
  const database = gateway.logs.find(({ msg }) => msg === 'embedded database started')
  expect(database).toBeDefined()
  // Nothing but its own PostgreSQL, on one port of loopback.
  expect([...opened()]).toEqual([expect.stringMatching(/^connect 127\.0\.0\.1:\d+$/)])

  // What a dealer configures is seen: the recorder works.
  const receiver = await startReceiver()
  try {
    await dealer.setWebhook({ callbackUrl: receiver.url })
    await dealer.order({ transactionId: 'TELEMETRY-2', packageInfoList })
    await expect.poll(() => receiver.events.length).toBeGreaterThan(0)
    const { port } = new URL(receiver.url)
    expect([...opened()].some((line) => line.endsWith(`:${port}`))).toBe(true)
  } finally {
    await receiver.close()
  }
})
