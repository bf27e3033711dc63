import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { adminJson } from '@dealer-esim/gateway/test/harness/processes/admin-process.ts'
import { freePort } from '@dealer-esim/gateway/test/harness/processes/free-port.ts'
import { stopGateways, temporaryFolder } from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { DealerEsim, newTransactionId, type QueryAnswer } from '@dealer-esim/sdk'
import { type Purchase, Shop, serveShop } from '@dealer-esim/sdk/examples/certify-shop.mts'
import { command } from '@dealer-esim/sdk/test/command.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type LocalGateway, root, startLocalGateway } from '../local-gateway.ts'

/* `dealer-esim certify` passes a right integration in each language, and finds what is wrong in the others. */
let gateway: LocalGateway
beforeAll(async () => {
  gateway = await startLocalGateway()
})
afterAll(stopGateways)

interface Report {
  passed: boolean
  cases: { name: string; page: string; passed: boolean; findings: { expected: string; found: string; ok: boolean }[] }[]
}

async function certify(
  shopPort: number,
  proxyPort: number,
  only?: string,
  { appKey, appSecret } = gateway.credentials,
): Promise<{ code: number; report: Report }> {
  const url = `http://127.0.0.1:${shopPort}`
  const places = ['--integration', `${url}/certify`, '--events', `${url}/esim-events`, '--port', String(proxyPort)]
  const { code, out, err } = await command(['--json', 'certify', ...places, ...(only ? ['--only', only] : [])], {
    env: { ...gateway.env, DEALER_ESIM_APP_KEY: appKey, DEALER_ESIM_APP_SECRET: appSecret },
  })
  return { code, report: out.startsWith('{') ? JSON.parse(out) : expect.fail(err) }
}

const failures = ({ cases }: Report) =>
  cases
    .filter(({ passed }) => !passed)
    .map(({ name, findings }) => ({ name, findings: findings.filter(({ ok }) => !ok) }))

type Broken = new (esim: DealerEsim) => Shop
type Serve = (shop: Shop, appSecret: string) => Server

/** Runs certify against a shop in this process. */
async function certifyShop(
  only?: string,
  ShopClass: Broken = Shop,
  serve: Serve = serveShop,
  retries = 1,
  credentials = gateway.credentials,
) {
  const proxyPort = await freePort()
  const esim = new DealerEsim({ ...credentials, baseUrl: `http://127.0.0.1:${proxyPort}`, retries })
  const server = serve(new ShopClass(esim), credentials.appSecret)
  const shopPort = await freePort()
  await new Promise<void>((resolve) => server.listen(shopPort, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return certify(shopPort, proxyPort, only, credentials)
}

const CASES = [
  ...['lost-answer', 'server-error', 'rate-limit', 'clock-skew', 'price-change', 'partial-delivery', 'refund'],
  ...['doubled-events', 'reordered-events', 'forged-event', 'stale-event', 'secret-reset'],
]

describe('a right integration passes every case', () => {
  test('in TypeScript', async () => {
    const { code, report } = await certifyShop()
    expect(failures(report)).toEqual([])
    expect(report.cases.map(({ name }) => name)).toEqual(CASES)
    expect(code).toBe(0)
  })

  test('in TypeScript, on the test twin of an account', async () => {
    const { tenantId } = await new DealerEsim(gateway.credentials).health()
    const env = { DATA_DIR: join(gateway.cwd, '.data') }
    await adminJson(['tenant', 'twin', 'delete', tenantId], env).catch(() => {}) // of a first attempt
    const twin = ['tenant', 'twin', 'create', tenantId]
    const { appKey, appSecret } = await adminJson<{ appKey: string; appSecret: string }>(twin, env)
    const credentials = { ...gateway.credentials, appKey, appSecret }
    const { code, report } = await certifyShop(undefined, Shop, serveShop, 1, credentials)
    expect(failures(report)).toEqual([])
    expect(code).toBe(0)
  })

  const php = join(root, 'sdks/php/examples/certify_shop.php')
  test.each([
    [
      'Python',
      ['/usr/bin/python3', '-B', join(root, 'sdks/python/examples/certify_shop.py')],
      'PYTHONPATH',
      'sdks/python/src',
    ],
    ['PHP', ['php', '-S', '127.0.0.1:PORT', php], 'SHOP_AUTOLOAD', 'test/sdks/sdk-source.php'],
  ])('in %s', async (language, [program = '', ...args], variable, source) => {
    if (!canRun(`certify in ${language}`, program)) return
    const [proxyPort, shopPort] = [await freePort(), await freePort()]
    const child = spawn(
      program,
      args.map((each) => each.replace('PORT', String(shopPort))),
      {
        cwd: temporaryFolder('certify'),
        env: {
          ...{ ...process.env, ...gateway.env, [variable]: join(root, source), PORT: String(shopPort) },
          DEALER_ESIM_BASE_URL: `http://127.0.0.1:${proxyPort}`,
        },
        stdio: 'ignore',
      },
    )
    onTestFinished(() => void child.kill())
    const isUp = () =>
      fetch(`http://127.0.0.1:${shopPort}/`).then(
        () => true,
        () => false,
      )
    await expect.poll(isUp).toBe(true)
    const { code, report } = await certify(shopPort, proxyPort)
    expect(failures(report)).toEqual([])
    expect(code).toBe(0)
  })
})

/** Applies what an event says, instead of asking for the order. */
class TrustsEvents extends Shop {
  override async buy({ transactionId, packageCode, count, price }: Purchase) {
    await this.esim.order({ transactionId, packageInfoList: [{ packageCode, count, price }] }).catch(() => undefined)
  }
  override async settle() {}
}

/** A receiver written by hand. */
function receiver(
  onEvent: (shop: Shop, event: { content: QueryAnswer }) => unknown,
  isGenuine: (headers: Headers, body: string, secret: string) => boolean,
): Serve {
  return (shop, appSecret) => {
    const server = serveShop(shop, appSecret)
    const [serve] = server.listeners('request') as [(request: object, response: object) => void]
    server.removeAllListeners('request')
    return server.on('request', async (request, response) => {
      if (request.url !== '/esim-events') return serve(request, response)
      let body = ''
      for await (const chunk of request) body += chunk
      const genuine = isGenuine(new Headers(request.headers as Record<string, string>), body, appSecret)
      if (genuine) await onEvent(shop, JSON.parse(body))
      response.writeHead(genuine ? 204 : 401).end()
    })
  }
}

const find = (shop: Shop, transactionId: string | null) =>
  [...shop.purchases.values()].find((each) => each.transactionId === transactionId)
const ask = (shop: Shop, { content }: { content: QueryAnswer }) => shop.event(String(content.transactionId))
const applyContent = (shop: Shop, { content }: { content: QueryAnswer & { profiles?: [] } }) => {
  const purchase = find(shop, content.transactionId)
  if (purchase)
    shop.apply(purchase, {
      ...content,
      refundedAmount: content.refundedAmount ?? 0,
      profileList: content.profiles ?? [],
    })
}
const anything = () => true
const standard =
  (age: boolean, pick: (signatures: string[]) => string[]) => (headers: Headers, body: string, secret: string) => {
    const [id, timestamp, list] = ['id', 'timestamp', 'signature'].map((name) => headers.get(`webhook-${name}`) ?? '')
    if (age && Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false
    const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
    return pick(list!.split(' ')).includes(`v1,${expected}`)
  }

const give = (purchase: Purchase) => Object.assign(purchase, { status: 'DELIVERED', esims: 1, handedOver: 1 })

/** One fault each, and what certify must find first. */
const BROKEN: Record<string, { fault: string; found: RegExp; shop?: Broken; serve?: Serve; retries?: number }> = {
  'lost-answer': {
    fault: 'takes a lost answer for a refusal',
    found: /^REFUSED$/,
    shop: class extends Shop {
      override async buy(purchase: Purchase) {
        await super.buy(purchase)
        if (purchase.status === 'PENDING') purchase.status = 'REFUSED'
      }
    },
  },
  'server-error': {
    fault: 'repeats an order with another transactionId',
    found: /^2 orders$/,
    retries: 0,
    shop: class extends Shop {
      override async buy(purchase: Purchase) {
        await super.buy(purchase)
        if (purchase.status === 'PENDING')
          await super.buy(Object.assign(purchase, { transactionId: newTransactionId() }))
      }
    },
  },
  'rate-limit': {
    fault: 'repeats without a wait what the rate limit has refused',
    found: /^one after \d+ ms$/,
    retries: 0,
    shop: class extends Shop {
      override async buy(purchase: Purchase) {
        for (let calls = 0; calls < 3 && purchase.status === 'PENDING'; calls++) await super.buy(purchase)
      }
    },
  },
  'clock-skew': {
    fault: 'hands over before the gateway has accepted the order',
    found: /^DELIVERED$/,
    shop: class extends Shop {
      override async buy(purchase: Purchase) {
        await super.buy(give(purchase))
        if (purchase.status === 'PENDING' || purchase.status === 'REFUSED') give(purchase)
      }
    },
  },
  'price-change': {
    fault: 'sends no price',
    found: /^1 order$/,
    shop: class extends Shop {
      override async buy(purchase: Purchase) {
        const { transactionId, packageCode, count } = purchase
        await this.esim.order({ transactionId, packageInfoList: [{ packageCode, count }] })
        this.apply(purchase, await this.esim.waitForOrder({ transactionId }))
      }
    },
  },
  'partial-delivery': {
    fault: 'takes every end of an order for a delivery of everything',
    found: /^DELIVERED, eSIMs: 2/,
    shop: class extends Shop {
      override apply(purchase: Purchase, order: QueryAnswer) {
        const { count } = purchase
        super.apply(purchase, order)
        if (purchase.esims > 0) Object.assign(purchase, { status: 'DELIVERED', esims: count })
      }
    },
  },
  refund: {
    fault: 'waits for eSIMs of an order that has failed',
    found: /^PENDING/,
    shop: class extends Shop {
      override apply(purchase: Purchase, order: QueryAnswer) {
        if (order.orderStatus !== 'FAILED') super.apply(purchase, order)
      }
    },
  },
  'doubled-events': {
    fault: 'hands over at each event',
    found: /handed over: [2-9]/,
    shop: class extends Shop {
      override apply(purchase: Purchase, order: QueryAnswer) {
        const before = purchase.handedOver
        super.apply(purchase, order)
        if (purchase.status === 'DELIVERED') purchase.handedOver = before + 1
      }
    },
  },
  'reordered-events': {
    fault: 'believes the event that came last',
    found: /^PENDING/,
    shop: TrustsEvents,
    serve: receiver(
      applyContent,
      standard(true, (all) => all),
    ),
  },
  'forged-event': { fault: 'verifies nothing', found: /^HTTP 204$/, serve: receiver(applyContent, anything) },
  'stale-event': {
    fault: 'does not check the age of an event',
    found: /^HTTP 204$/,
    serve: receiver(
      ask,
      standard(false, (all) => all),
    ),
  },
  'secret-reset': {
    fault: 'reads only the first signature',
    found: /^HTTP 401$/,
    serve: receiver(
      ask,
      standard(true, (all) => all.slice(0, 1)),
    ),
  },
}

test.each(CASES)('%s finds an integration that is broken there', async (name) => {
  const { fault, found, shop, serve, retries } = BROKEN[name]!
  const { code, report } = await certifyShop(name, shop, serve, retries)
  expect(code, fault).toBe(1)
  expect(report).toMatchObject({
    passed: false,
    cases: [{ name, passed: false, page: expect.stringMatching(/^docs\//) }],
  })
  expect(failures(report)[0]!.findings[0]!.found, fault).toMatch(found)
})

test('an integration that calls the gateway past the proxy is found', async () => {
  const direct = new DealerEsim(gateway.credentials)
  const { code, report } = await certifyShop(
    'refund',
    class extends Shop {
      override esim = direct
    },
  )
  expect([code, JSON.stringify(failures(report))]).toEqual([1, expect.stringContaining('no call through the proxy')])
})

test('certify refuses a restricted key, because events are signed with the secret of the account', async () => {
  const { agentKey } = gateway.credentials as unknown as { agentKey: { appKey: string; appSecret: string } }
  const env = { ...gateway.env, DEALER_ESIM_APP_KEY: agentKey.appKey, DEALER_ESIM_APP_SECRET: agentKey.appSecret }
  const { code, err } = await command(
    ['certify', '--integration', 'http://127.0.0.1:9', '--events', 'http://127.0.0.1:9'],
    { env },
  )
  expect([code, err]).toEqual([2, expect.stringMatching(/restricted key/)])
})

test('an integration that does not answer its commands is answered with the URL and the reason', async () => {
  const { code, report } = await certify(await freePort(), await freePort(), 'refund')
  expect([code, failures(report)]).toEqual([
    1,
    [
      {
        name: 'refund',
        findings: [expect.objectContaining({ found: expect.stringMatching(/cannot be reached: .*ECONNREFUSED/) })],
      },
    ],
  ])
})
