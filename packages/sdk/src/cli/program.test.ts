import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { type FakeGateway, fakeGateway, ok, refusal, type Script } from '#test/fake-gateway.ts'
import { ORDER } from '#test/order.ts'

let gateway: FakeGateway | undefined
afterEach(() => gateway?.close())

async function start(script: Script) {
  gateway = await fakeGateway(script)
  return { env: environment(gateway) }
}

const BALANCE = {
  balance: 12_345_600,
  creditLimit: 0,
  availableBalance: 12_345_600,
  currencyCode: 'USD',
  lowBalanceThreshold: null,
  lastUpdateTime: '2026-11-20T13:28:09.000Z',
}

describe('credentials', () => {
  test('of a local gateway in this directory are used and reported if the environment has none', async () => {
    await start(() => ok(BALANCE))
    const cwd = mkdtempSync(join(tmpdir(), 'dealer-esim-cli-'))
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    mkdirSync(join(cwd, '.data'))
    const { baseUrl, appKey, appSecret } = gateway!
    writeFileSync(join(cwd, '.data/local.json'), JSON.stringify({ baseUrl, appKey, appSecret }))
    const { code, out, err } = await command(['balance'], { cwd })
    expect([code, err]).toEqual([0, `Using the local gateway ${baseUrl} (credentials from .data/local.json).\n`])
    expect(out).toBe(
      'Available     1234.56 USD\nBalance       1234.56 USD\nCredit limit  0.00 USD\nLast change   2026-11-20 13:28:09Z\n',
    )
  })

  test('can have the AppSecret in a file', async () => {
    await start(() => ok(BALANCE))
    const cwd = mkdtempSync(join(tmpdir(), 'dealer-esim-cli-'))
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    const { DEALER_ESIM_APP_SECRET: secret, ...env } = environment(gateway!)
    writeFileSync(join(cwd, 'secret'), `${secret}\n`)
    const balance = (file: string) => command(['balance'], { cwd, env: { ...env, DEALER_ESIM_APP_SECRET_FILE: file } })
    expect(await balance('secret')).toMatchObject({ err: '', code: 0 })
    expect(await balance('absent')).toMatchObject({
      ...{ code: 2, err: 'DEALER_ESIM_APP_SECRET_FILE points to absent, which cannot be read.\n' },
    })
  })

  test('of a local gateway from before a reset are reported as the cause of a wrong signature', async () => {
    await start(() => refusal(401, '101003'))
    const cwd = mkdtempSync(join(tmpdir(), 'dealer-esim-cli-'))
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    mkdirSync(join(cwd, '.data'))
    const { baseUrl, appKey, appSecret } = gateway!
    writeFileSync(join(cwd, '.data/local.json'), JSON.stringify({ baseUrl, appKey, appSecret }))
    const hint = '.data/local.json is older than the last reset of the AppSecret.'
    expect((await command(['balance'], { cwd })).err).toContain(hint)
    // With credentials from the environment, the file is not the cause.
    expect((await command(['balance'], { env: environment(gateway!) })).err).not.toContain('local.json')
  })

  test('are listed in the error if any are missing', async () => {
    const { code, err } = await command(['health'])
    expect(code).toBe(2)
    expect(err).toMatch(/No credentials\. Set DEALER_ESIM_BASE_URL, .* directory of a local gateway .*DATA_DIR/)
  })

  test('that are only partly in the environment are not mixed with another source', async () => {
    const { code, err } = await command(['health'], { env: { DEALER_ESIM_BASE_URL: 'https://esim.example' } })
    expect([code, err]).toEqual([2, 'Set DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET too.\n'])
  })

  test('with an invalid address are rejected before anything is sent', async () => {
    const env = environment({ baseUrl: 'https://e.example/open-api/v1', appKey: 'fake_app_key', appSecret: 's' })
    for (const argv of [['health'], ['sign', 'health']]) {
      const { code, out, err } = await command(argv, { env })
      expect([code, out, err]).toEqual([2, '', 'baseUrl must not end with /open-api/v1: remove it.\n'])
    }
  })
})

describe('output', () => {
  test('--json prints the answer as one document, whether given before or after the command', async () => {
    const input = await start(() => ok(BALANCE))
    for (const argv of [
      ['--json', 'balance'],
      ['balance', '--json'],
    ]) {
      expect(JSON.parse((await command(argv, input)).out)).toEqual(BALANCE)
    }
  })

  test('after a refusal, the command says what to do on standard error and exits with status 1', async () => {
    const more = { currentBalance: 10_000, requiredAmount: 45_000, shortfall: 35_000, currencyCode: 'USD' }
    const input = await start(() => refusal(402, '200007', more))
    const { code, out, err } = await command(['order', 'JP_1_7', '--transaction-id', 'T-1'], input)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^200007 {2}refused with 200007$/m)
    expect(err).toMatch(/^ {2}shortfall +3\.50 USD$/m)
    expect(err).toMatch(/^ {2}transactionId +T-1$/m)
  })

  test('after a refusal, --json prints one document on standard output', async () => {
    const input = await start(() => refusal(404, '200013'))
    const { code, out, err } = await command(['query', 'O9', '--json'], input)
    expect([code, err]).toEqual([1, ''])
    expect(out.trim()).not.toContain('\n')
    expect(JSON.parse(out)).toMatchObject({ code: '200013', httpStatus: 404, outcomeUnknown: false })
  })

  test('without an answer, the command exits with status 3 and says that repeating the order is safe', async () => {
    const input = await start(() => 'break')
    const { code, err } = await command(['order', 'JP_1_7', '--transaction-id', 'T-1', '--retries', '0'], input)
    expect(code).toBe(3)
    expect(err).toMatch(/NETWORK_FAULT/)
    expect(err).toMatch(/an order with the same transactionId/)
  })

  test('if a success answer lacks members, the command exits with status 3 and says that repeating is safe', async () => {
    const { env } = await start(() => ok({ orderNo: '1' }))
    const { code, out, err } = await command(['order', 'JP_1_7', '--transaction-id', 'T-1'], { env })
    expect([code, out]).toEqual([3, ''])
    expect(err).toContain('repeat an order with the same transactionId')
    expect(err).not.toMatch(/\n +at /)
    const json = await command(['order', 'JP_1_7', '--transaction-id', 'T-1', '--json'], { env })
    expect(JSON.parse(json.out)).toMatchObject({ code: 'COMMAND_FAILED' })
  })

  test('text from a gateway cannot move the terminal’s cursor', async () => {
    const input = await start(() => ok({ status: 'UP', tenantId: 't', clientName: 'evil\x1b[2J\nname' }))
    expect((await command(['health'], input)).out).toContain('evil [2J name')
  })

  test('colours are not printed as text on a terminal', async () => {
    const input = await start(() => ok({ status: 'UP', tenantId: 't', clientName: 'c' }))
    expect((await command(['health'], { ...input, colour: true })).out).toMatch(/^Status +UP$/m)
  })
})

describe('commands', () => {
  test('order sends lines, guards and a transactionId that is shown before sending', async () => {
    const input = await start((_operation, body) => ok({ ...ORDER, transactionId: body.transactionId }))
    const { code, out, err } = await command(
      ['order', 'JP_1_7:2', 'EU_5_30', '--amount', '21.5', '--remark', 'x'],
      input,
    )
    expect(code).toBe(0)
    const sent = gateway?.seen[0]?.body
    expect(sent).toEqual({
      transactionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      packageInfoList: [
        { packageCode: 'JP_1_7', count: 2 },
        { packageCode: 'EU_5_30', count: 1 },
      ],
      amount: 215_000,
      remark: 'x',
    })
    expect(err).toBe(`transactionId ${sent?.transactionId}\n`)
    expect(out).toMatch(/^Amount +4\.50 USD$/m)
  })

  test('webhook reads, sets and removes the setting, and selects event types, with the right members', async () => {
    const lastUpdateTime = '2026-11-20T13:28:09.000Z'
    const notices = { usageThresholds: [80], expiryNoticeHours: [] }
    const setting = { callbackUrl: null, eventTypes: [], enabled: false, ...notices, lastUpdateTime }
    const input = await start(() => ok(setting))
    for (const argv of [
      [],
      ['set', 'https://d.example/e'],
      ['set', '--events', 'ORDER_PAID'],
      ['set', '--usage-thresholds', '80,100', '--expiry-hours', 'none'],
      ['disable'],
      ['remove'],
    ]) {
      expect((await command(['webhook', ...argv], input)).code).toBe(0)
    }
    expect(gateway?.seen.map((each) => each.body)).toEqual([
      {},
      { callbackUrl: 'https://d.example/e', enabled: true },
      { eventTypes: ['ORDER_PAID'] },
      { usageThresholds: [80, 100], expiryNoticeHours: [] },
      { enabled: false },
      { callbackUrl: null },
    ])
  })

  test('--all fetches every page', async () => {
    const input = await start((_operation, body) =>
      ok({
        packageList: [{ packageCode: body.cursor ? 'B' : 'A', status: 'OFF_SALE', lastUpdateTime: '' }],
        nextCursor: body.cursor ? null : 'c',
        asOf: body.cursor ? 'later' : 'first',
      }),
    )
    const { out } = await command(['packages', '--all', '--location', 'JP', '--json'], input)
    expect(gateway?.seen.map((each) => each.body.locationCode)).toEqual(['JP', 'JP'])
    expect(JSON.parse(out).packageList.map((each: { packageCode: string }) => each.packageCode)).toEqual(['A', 'B'])
    expect(JSON.parse(out).asOf).toBe('first')
  })

  test('query hides activation codes unless --codes is given', async () => {
    const { balanceAfter: _, ...order } = ORDER
    const profile = {
      esimTranNo: 'E1',
      iccid: '8985200012345678901',
      ac: 'LPA:1$smdp.example$SECRET',
      orderUsage: null,
      packageCode: 'JP_1_7',
      esimStatus: 'GOT_RESOURCE',
    }
    const more = { refundedAmount: 0, remark: null, packageInfoList: [], statusHistory: [] }
    const input = await start(() =>
      ok({
        ...order,
        ...more,
        orderStatus: 'DELIVERED',
        profileList: [{ ...profile, createTime: '', qrCodeUrl: 'q' }],
      }),
    )
    for (const argv of [
      ['query', 'O1'],
      ['order', 'JP_1_7', '--wait'],
    ]) {
      const hidden = await command(argv, input)
      expect(hidden.out).toContain('Add --codes')
      expect(hidden.out).not.toContain('SECRET')
      expect((await command([...argv, '--codes'], input)).out).toContain('SECRET')
    }
  })

  test.each([
    [['order', 'JP_1_7', '--amount', '1.23456'], /more than 4 decimal places/],
    [['packages', '--page-size', '501'], /from 1 to 500/],
    [['balance', '--timeout', '0'], /A time-out must be at least 1ms/],
    [['balance', '--timeout', '999999m'], /The longest time is 2147483647ms/],
    [['query', 'O1', '--wait', '2147483648ms'], /The longest time is 2147483647ms/],
    [['query'], /Add its number or --transaction-id/],
    [['sign', 'esim/delete'], /Unknown operation esim\/delete/],
    [['listen', '--fail', '130%'], /such as 30%/],
    [['listen', '--forward', 'localhost:18791'], /such as http:\/\/localhost:18791/],
    [['bogus'], /unknown command/],
  ])('%j is rejected with a message and exit code 2', async (argv, words) => {
    const { code, err } = await command(argv, await start(() => ok({})))
    expect(err).toMatch(words)
    expect(code).toBe(2)
    expect(gateway?.seen).toEqual([])
  })

  test('the longest time-out is the longest delay that a timer supports', async () => {
    const input = await start(() => ok(BALANCE))
    expect((await command(['balance', '--timeout', '2147483.647'], input)).code).toBe(0)
  })

  test('every command accepts --help and then exits with status 0', async () => {
    const { out } = await command(['--help'])
    for (const name of [
      'health',
      'balance',
      'packages',
      'order',
      'query',
      'profiles',
      'webhook',
      'sign',
      'verify',
      'listen',
      'tour',
    ]) {
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
      expect((await command([name, '--help'])).code).toBe(0)
    }
  })

  test("sign's curl command is accepted by the gateway, including quotes", async () => {
    const input = await start(() => ok({ orderNo: 'O1' }))
    const body = `{"transactionId":"T-1","remark":"it's für Zoë"}`
    const { out } = await command(['sign', 'esim/order', body, '--json'], input)
    const signed = JSON.parse(out)
    expect(signed.stringToSign).toBe(
      `${signed.headers['RT-Timestamp']}${signed.headers['RT-RequestID']}fake_app_key${body}`,
    )
    // Asynchronously, because the fake gateway runs in this process.
    const answer = await new Promise<string>((resolve, reject) => {
      import('node:child_process').then(({ execFile }) =>
        execFile('sh', ['-c', signed.curl], (error, stdout) => (error ? reject(error) : resolve(stdout))),
      )
    })
    expect(JSON.parse(answer)).toMatchObject({ code: '000000' })
    expect(gateway?.seen[0]?.body.remark).toBe("it's für Zoë")
  })
})

test('the installed bundle runs', () => {
  const bin = new URL('../../bin/dealer-esim.mjs', import.meta.url).pathname
  expect(
    execFileSync(process.execPath, [bin, '--help'], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } }),
  ).toMatch(/^Usage: dealer-esim/)
})
