import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { OperatorAlertKind } from '#alerts/alert-kinds.ts'
import { createAlert } from '#alerts/create-alert.ts'
import { alertOperatorsOfReviews } from '#fulfilment/review/review-alerts.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { requestTopUp } from '#wallet/requests/create-request.ts'
import { confirmTopUpRequest, declineTopUpRequest } from '#wallet/requests/decide-request.ts'
import { call, type Dealer } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith } from '../harness/processes/admin-in-process.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { type SmtpReceiver, startSmtpReceiver } from '../harness/servers/smtp-receiver.ts'
import { startReceiver } from '../webhooks/receiver.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
let database: TestDatabase
let db: Db & { close(): Promise<void> }
let smtp: SmtpReceiver
let env: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 3, applicationName: 'test mail' })
  smtp = await startSmtpReceiver()
  env = { SMTP_URL: smtp.url, MAIL_FROM: 'eSIM <esim@gateway.example>', OPERATOR_EMAIL: 'ops@operator.example' }
})
afterEach(async () => {
  if (!shared) await stopGateways()
})
afterAll(async () => {
  await stopGateways()
  await smtp.close()
  await db.close()
  await database.drop()
})
beforeEach(async () => {
  smtp.refusals = {}
  smtp.mails.length = 0
  smtp.recipients.length = 0
  for (const table of ['mails', 'alerts', 'operator_settings']) await db.query({ text: `delete from ${table}` })
  // Removes leftovers of another test, or of a first attempt of this one.
  await db.query({ text: `delete from people where email like '%.example'` })
  await db.query({ text: 'update wallets set low_balance_threshold = null, low_balance_alerted_percent = 0' })
})

/** The gateway shared by tests that do not need a separate one. */
let shared: GatewayProcess | undefined

async function running(): Promise<GatewayProcess> {
  shared ??= await startGateway({ databaseUrl: database.url, env })
  return shared
}

async function nobodyRuns(): Promise<void> {
  shared = undefined
  await stopGateways()
}

/** Starts a worker that ends with its test and is the only gateway while it runs. */
async function start(more: Record<string, string> = {}): Promise<GatewayProcess> {
  await nobodyRuns()
  return startGateway({ databaseUrl: database.url, role: 'worker', env: { ...env, ...more } })
}

const dealerOf = (gateway: GatewayProcess): Dealer =>
  JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8'))

/** @returns the balance after it */
async function buyOne(gateway: GatewayProcess): Promise<bigint> {
  const body = JSON.stringify({ transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  const { code, data } = await call(gateway, dealerOf(gateway), 'esim/order', { body })
  expect(code).toBe('000000')
  return BigInt(data.balanceAfter)
}

/** Waits until this many e-mails have reached the receiver. Their rows are marked only afterwards. */
const arrived = (count: number) => expect.poll(() => smtp.mails.length).toBe(count)

function raiseAlert(message: string, kind: OperatorAlertKind = 'LOW_STOCK'): Promise<void> {
  return db.tx(async (tx) => createAlert(tx, systemIds, { kind, message }))
}

type Mail = { recipient: string; kind: string; attempts: number } & Record<
  'sent' | 'over' | 'empty' | 'leased',
  boolean
>
const mails = () =>
  db.query<Mail>({
    text: `select recipient, kind, attempts, sent_at is not null as sent, due_at is null as over, content is null as empty,
             lease_until is not null as leased
           from mails order by mail_id`,
  })

describe('alert mails', () => {
  it('a person receives no mail about the kinds of alerts that they have muted', async () => {
    await start({ OPERATOR_EMAIL: '' })
    for (const [email, muted] of [
      ['quiet@operator.example', '{LOW_STOCK}'],
      ['curious@operator.example', '{UNDER_REVIEW}'],
    ])
      await db.query({
        text: `insert into people (person_id, email, name, role, password_hash, muted_alerts)
               values ($1, $2, 'A', 'OPERATOR_STAFF', 'x', $3)`,
        values: [randomUUID(), email, muted],
      })
    await raiseAlert('Few codes are left.')
    await arrived(1)
    await raiseAlert('An order waits.', 'UNDER_REVIEW')
    await arrived(2)
    expect(smtp.mails.map(({ to }) => to)).toEqual(['curious@operator.example', 'quiet@operator.example'])
    expect(smtp.mails[1]!.text).toContain('/console/orders?status=UNDER_REVIEW')
    expect(smtp.mails[1]!.html).toContain('/console/orders?status=UNDER_REVIEW')
  })

  it('operator alerts go to the addresses set in the console instead of OPERATOR_EMAIL', async () => {
    await running()
    await db.query({ text: `insert into operator_settings (alert_emails) values ('{night@operator.example}')` })
    await raiseAlert('Few codes are left.')
    await arrived(1)
    expect(smtp.mails[0]).toMatchObject({ to: 'night@operator.example', autoSubmitted: 'auto-generated' })
  })

  it('a top-up request is mailed to the operator, and the decision to the billing address', async () => {
    const gateway = await running()
    const { appKey } = dealerOf(gateway)
    const [tenant] = await db.query<{ tenantId: string }>({
      text: `update tenants set billing_email = 'billing@dealer.example' where app_key = $1 returning tenant_id`,
      values: [appKey],
    })
    const { tenantId } = tenant!
    const deps = { db, ids: systemIds }
    const ask = (reference: string) =>
      requestTopUp(deps, { tenantId, amount: 1_000_000n, reference }, { actor: 'person:dealer' })
    const [paid, unpaid] = [randomUUID(), randomUUID()]
    const { requestId } = await ask(paid)
    await arrived(1)
    await confirmTopUpRequest(deps, tenantId, requestId, { actor: 'person:operator' })
    await arrived(2)
    const second = await ask(unpaid)
    await arrived(3)
    const declined = { tenantId, requestId: second.requestId, reason: 'no payment arrived' }
    await declineTopUpRequest(deps, declined, { actor: 'person:operator' })
    await arrived(4)
    const [ops, billing] = ['ops@operator.example', 'billing@dealer.example']
    expect(smtp.mails.map(({ to }) => to)).toEqual([ops, billing, ops, billing])
    expect(smtp.mails[0]!.text).toContain(paid)
    expect(smtp.mails[3]!.text).toContain(`${unpaid}. Reason: no`)
  })

  it('a low balance is mailed to the billing address, once per step', async () => {
    const gateway = await running()
    const dealer = dealerOf(gateway)
    await db.query({
      text: `update tenants set billing_email = 'billing@dealer.example' where app_key = $1`,
      values: [dealer.appKey],
    })
    const warnBelow = (threshold: bigint) =>
      db.query({
        text: `update wallets set low_balance_threshold = $2
               where tenant_id = (select tenant_id from tenants where app_key = $1)`,
        values: [dealer.appKey, threshold],
      })
    const opening = BigInt((await call(gateway, dealer, 'account/balance')).data.balance)
    const first = await buyOne(gateway)
    const price = opening - first
    // The next debit crosses the threshold, two more follow below it, and the last one crosses three quarters of it.
    await warnBelow(first - price + 1n)
    await buyOne(gateway)
    await arrived(1)
    await buyOne(gateway)
    const left = await buyOne(gateway)
    await warnBelow((left * 4n) / 3n)
    await buyOne(gateway)
    await arrived(2)
    expect(smtp.mails.map((mail) => mail.to)).toEqual(['billing@dealer.example', 'billing@dealer.example'])
    expect(smtp.mails[0]).toMatchObject({
      from: 'esim@gateway.example',
      subject: expect.stringMatching(/^Your balance is low: /),
    })
    expect(smtp.mails[0]!.text).toMatch(/below the threshold of .* USD\. Top up to continue selling\./)
    expect(smtp.mails[1]!.text).toMatch(/below 75 % of the threshold/)
    const sentAtOnce = { sent: true, empty: true, attempts: 1 }
    await expect.poll(mails).toMatchObject([sentAtOnce, sentAtOnce])
  })

  it('a disabled callback URL is mailed to the dealer’s administrators, except those with an open invitation', async () => {
    const gateway = await running()
    const receiver = await startReceiver(410)
    onTestFinished(() => receiver.close())
    await db.query({
      text: `insert into people (person_id, tenant_id, email, name, role, status, password_hash)
             select gen_random_uuid(), tenant_id, p.email, 'P', p.role, p.status, p.hash
             from tenants, (values ('invited@dealer.example', 'DEALER_ADMIN', 'ACTIVE', null), ('admin@dealer.example', 'DEALER_ADMIN', 'ACTIVE', 'x'),
               ('staff@dealer.example', 'DEALER_STAFF', 'ACTIVE', 'x'), ('gone@dealer.example', 'DEALER_ADMIN', 'DISABLED', 'x'))
               as p(email, role, status, hash)
             where app_key = $1`,
      values: [dealerOf(gateway).appKey],
    })
    await call(gateway, dealerOf(gateway), 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
    await buyOne(gateway)
    await arrived(1)
    expect(smtp.mails[0]).toMatchObject({ to: 'admin@dealer.example', subject: expect.stringMatching(/was disabled/) })
    // All e-mails of an alert are queued together.
    expect((await mails()).map((mail) => mail.recipient)).toEqual(['admin@dealer.example'])
  })

  it('old alerts are not mailed', async () => {
    await db.query({
      text: `insert into alerts (tenant_id, alert_id, kind, audience, message)
             values ($1, $2::uuid, 'LOW_STOCK', 'OPERATOR', 'Long ago.')`,
      values: [NIL_TENANT, '018f0000-0000-7000-8000-000000000000'],
    })
    await running()
    await raiseAlert('Now.')
    await arrived(1)
    expect(smtp.mails[0]!.text).toContain('Now.')
  })

  it("the operator's alerts go to OPERATOR_EMAIL or, if it is not set, to the operator's staff", async () => {
    await db.query({
      text: `insert into people (person_id, email, name, role, password_hash)
             values (gen_random_uuid(), 'staff@operator.example', 'S', 'OPERATOR_STAFF', 'x'),
               (gen_random_uuid(), 'reader@operator.example', 'R', 'OPERATOR_READ_ONLY', 'x')`,
    })
    await running()
    await raiseAlert('Few codes are left.')
    await arrived(1)
    expect(smtp.mails[0]!.to).toBe('ops@operator.example')
    await start({ OPERATOR_EMAIL: '' })
    await raiseAlert('Fewer codes are left.')
    await expect.poll(() => smtp.mails.map((mail) => mail.to)).toContain('staff@operator.example')
    // All e-mails of an alert are queued together.
    expect((await mails()).map((mail) => mail.recipient)).not.toContain('reader@operator.example')
  })

  it('a dealer that keeps changing its threshold receives at most a hundred mails a day', async () => {
    const dealer = dealerOf(await running())
    await nobodyRuns()
    const [{ tenantId }] = (await db.query<{ tenantId: string }>({
      text: `update tenants set billing_email = 'stranger@elsewhere.example' where app_key = $1 returning tenant_id`,
      values: [dealer.appKey],
    })) as [{ tenantId: string }]
    const deps = { db, ids: systemIds, wake: { wake() {}, on: () => () => {} } }
    const request = { tenantId, kind: 'TOP_UP_REQUESTED', message: 'A payment.' } as const
    await db.tx(async (tx) => createAlert(tx, systemIds, request))
    for (let at = 0; at < 110; at++) {
      const lowBalanceThreshold = 900_000_000n + BigInt(at)
      await changeSettings(deps, tenantId, { lowBalanceThreshold }, { actor: 'tenant' })
    }
    await start()
    await expect.poll(() => db.query({ text: 'select 1 from alerts where mailed_at is null' })).toEqual([])
    const countOf = async (to: string) => (await mails()).filter(({ recipient }) => recipient === to).length
    expect(await countOf('stranger@elsewhere.example')).toBe(100)
    await raiseAlert('Few codes are left.')
    await expect.poll(() => countOf('ops@operator.example')).toBe(2)
  })

  it('orders under review are mailed once, and again when more arrive, but not every minute', async () => {
    const tenantId = systemIds.uuid()
    onTestFinished(async () => {
      await db.query({ text: 'delete from orders where tenant_id = $1', values: [tenantId] })
    })
    const review = (at: string, orders = 1) =>
      db.query({
        text: `insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
                 wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
               select $1, gen_random_uuid(), gen_random_uuid()::text, 'UNDER_REVIEW', 1, 'USD', 1, 1, '[]', '[]', 1, now(),
                 now() + $2::interval
               from generate_series(1, $3::integer)`,
        values: [tenantId, at, orders],
      })
    const anHourLater = () =>
      db.query({
        text: `update alerts set created_at = created_at - interval '61 minutes' where kind = 'UNDER_REVIEW'`,
      })
    const createAlert = () => alertOperatorsOfReviews({ db, ids: systemIds })
    expect(await createAlert()).toBe(false)
    await review('0 s')
    expect([await createAlert(), await createAlert()]).toEqual([true, false])
    await review('1 s')
    expect(await createAlert()).toBe(false)
    await anHourLater()
    expect([await createAlert(), await createAlert()]).toEqual([true, false])
    await review('-3 days', 2_000)
    await anHourLater()
    await db.query({
      text: `update orders set updated_at = updated_at - interval '3 days' where tenant_id = $1`,
      values: [tenantId],
    })
    expect(await createAlert()).toBe(false)
    await review('0 s')
    expect([await createAlert(), await createAlert()]).toEqual([true, false])
    const rows = await db.query<{ message: string }>({
      text: `select message from alerts where kind = 'UNDER_REVIEW' order by alert_id`,
    })
    expect(rows.map((row) => row.message.slice(21, row.message.indexOf('.')))).toEqual(['1', '2', '1000 or more'])
  })

  it('an invitation mail contains the link shown to the operator, and the link is stored only encrypted', async () => {
    await nobodyRuns()
    const cli = { DATABASE_URL: database.url, MASTER_KEY, DATA_DIR: '/nonexistent', ...env }
    const made = await adminJsonWith<{ link: string; mailed: boolean }>(
      ['people', 'create', '--email', 'Ada@Operator.example', '--name', 'Ada'],
      cli,
    )
    expect(made.mailed).toBe(true)
    const token = made.link.split('#')[1]!
    const [row] = await db.query<{ text: string }>({
      text: `select mails::text || encode(content, 'escape') as text from mails`,
    })
    expect(row!.text).not.toContain(token)
    await running()
    await arrived(1)
    expect(smtp.mails[0]).toMatchObject({ to: 'ada@operator.example', subject: 'Your invitation to the eSIM console' })
    expect(smtp.mails[0]!.text).toContain(`\n${made.link}\n`)
    expect(smtp.mails[0]!.html).toContain(`href="${made.link}"`)
    const again = await adminJsonWith<{ link: string }>(['people', 'link', 'ada@operator.example'], cli)
    await arrived(2)
    expect(smtp.mails[1]!.text).toContain(again.link)
  })

  it('without SMTP_URL no mail is queued, and the link is returned', async () => {
    const cli = { DATABASE_URL: database.url, MASTER_KEY, DATA_DIR: '/nonexistent' }
    const args = ['people', 'create', '--email', 'bob@operator.example', '--name', 'Bob']
    expect(await adminJsonWith(args, cli)).toMatchObject({ mailed: false })
    expect(await mails()).toEqual([])
  })
})

describe('a failed mail', () => {
  const due = () => db.query({ text: 'update mails set due_at = now() where due_at is not null' })

  it('is retried and sent once', async () => {
    await running()
    smtp.refusals.data = '451 greylisted'
    await raiseAlert('Again.')
    await expect.poll(mails).toMatchObject([{ attempts: 1, sent: false, over: false, leased: false }])
    smtp.refusals = {}
    await due()
    await arrived(1)
    await expect.poll(mails).toMatchObject([{ attempts: 2, sent: true, over: true, empty: true }])
    expect(smtp.mails[0]!.text).toContain('Again.')
  })

  it('is abandoned immediately when the recipient is rejected, otherwise after the last retry', async () => {
    await running()
    smtp.refusals.rcpt = '550 no such user'
    await raiseAlert('Nobody.')
    await expect.poll(mails).toMatchObject([{ attempts: 1, sent: false, over: true, empty: true }])
    smtp.refusals = { data: '451 later' }
    await raiseAlert('Never.')
    await expect.poll(async () => (await mails())[1]).toMatchObject({ attempts: 1, leased: false })
    await db.query({ text: 'update mails set attempts = 7, due_at = now() where due_at is not null' })
    await expect.poll(async () => (await mails())[1]).toMatchObject({ attempts: 8, leased: false })
    expect((await mails())[1]).toMatchObject({ over: false, empty: false })
    await due()
    await expect.poll(mails).toMatchObject([{}, { attempts: 9, sent: false, over: true }])
    expect(smtp.mails).toEqual([])
  })
})

describe('a killed worker', () => {
  const leasesEnd = () => db.query({ text: 'update mails set lease_until = now() where lease_until is not null' })

  it.each(['mail.claimed', 'mail.taken-over'])('at %s neither loses a mail nor sends one twice', async (point) => {
    const killed = await start({ PAUSE_AT: point })
    await raiseAlert(`Killed at ${point}.`)
    await killed.exited
    expect(smtp.mails).toEqual([])
    await leasesEnd()
    await start()
    await arrived(1)
    expect(smtp.mails[0]!.text).toContain(`Killed at ${point}.`)
  })

  it('causes a second mail with the same Message-ID if it dies between sending and saving', async () => {
    const killed = await start({ PAUSE_AT: 'mail.sent' })
    await raiseAlert('Twice.')
    await killed.exited
    await arrived(1)
    await leasesEnd()
    await start()
    await arrived(2)
    expect(smtp.mails[1]!.messageId).toBe(smtp.mails[0]!.messageId)
    expect(smtp.mails[0]!.messageId).toMatch(/^<[0-9a-f-]{36}@gateway\.example>$/)
  })
})
