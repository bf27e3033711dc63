import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import Type, { type Static } from 'typebox'
import type { CancelOutcome, Outcome, SuppliedEsim, Supplier, SupplierRequest } from '#supplier.ts'
import { act, findIssued, type IssuedRow, iccidOf, SANDBOX_PRODUCTS, type Sandbox } from './sandbox-records.ts'
import { foreseeUsage, reportUsage, USAGE_MS } from './sandbox-usage.ts'

/** Defaults for settings that a configuration leaves out. */
const DEFAULTS = {
  slowMs: 4_000,
  giveUpAfterMs: 3_000, // short, so that a developer sees an order go to review while watching
  timeoutMs: 15_000,
  concurrency: 4_000,
  usageMs: USAGE_MS,
}

export const sandboxConfig = Type.Object(
  {
    slowMs: Type.Optional(
      Type.Integer({ title: 'Delay of slow packages (ms)', default: DEFAULTS.slowMs, minimum: 0, maximum: 600_000 }),
    ),
    giveUpAfterMs: Type.Optional(
      Type.Integer({ title: 'Review after (ms)', default: DEFAULTS.giveUpAfterMs, minimum: 0, maximum: 86_400_000 }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({ title: 'Time-out of a call (ms)', default: DEFAULTS.timeoutMs, minimum: 1, maximum: 600_000 }),
    ),
    concurrency: Type.Optional(
      Type.Integer({
        title: 'Concurrent calls of a node',
        default: DEFAULTS.concurrency,
        minimum: 1,
        maximum: 100_000,
      }),
    ),
    usageMs: Type.Optional(
      Type.Integer({
        title: 'Duration of SANDBOX_USAGE packages (ms)',
        default: DEFAULTS.usageMs,
        minimum: 1,
        maximum: 86_400_000,
      }),
    ),
  },
  { additionalProperties: false },
)
export type SandboxConfig = Static<typeof sandboxConfig>

/** Seconds. Only eSIMs whose usage grows are polled, and a developer should see their events within a minute. */
const POLL_EVERY_S = 5
const BATCH = 500
const SMDP_ADDRESS = 'smdp.sandbox.invalid'
/** Hexadecimal digits: 128 bits. */
const MATCHING_ID_LENGTH = 32

/**
 * A supplier of test eSIMs: every part of them is valid, but no network accepts them. Like a real supplier it keeps its own
 * records (sandbox_issued), so a repeated key gets the same eSIM and tests can count the requests. It derives matching ids
 * from the link key, which every node has, so activation data is not stored unencrypted anywhere.
 */
export function sandboxSupplier(
  name: string,
  config: SandboxConfig,
  { db, linkKey, nowOf }: { db: Db; linkKey: Buffer; nowOf: Sandbox['nowOf'] },
): Supplier {
  const sandbox: Sandbox = { name, db, nowOf }
  const usageMs = config.usageMs ?? DEFAULTS.usageMs
  const matchingIdOf = (key: string) =>
    createHmac('sha256', linkKey)
      .update(`sandbox\n${name}\n${key}`)
      .digest('hex')
      .slice(0, MATCHING_ID_LENGTH)
      .toUpperCase()

  async function outcomesOf(requests: SupplierRequest[], rows: IssuedRow[]): Promise<Outcome[]> {
    const byKey = new Map(rows.map((row) => [row.key, row]))
    return requests.map((request) => outcomeOf(request, byKey.get(request.key), matchingIdOf))
  }

  async function issue(requests: SupplierRequest[]): Promise<Outcome[]> {
    const slow = requests.some((request) => request.productCode === SANDBOX_PRODUCTS.slow)
    if (slow) await delay(config.slowMs ?? DEFAULTS.slowMs)
    const rows = await db.query<IssuedRow>({
      name: 'sandbox-issue',
      text: issueStatement(sandbox),
      values: issueValues(name, requests),
    })
    await failpoint('sandbox.issued')
    return outcomesOf(requests, rows)
  }

  return {
    name,
    type: 'sandbox',
    traits: {
      batch: BATCH,
      concurrency: config.concurrency ?? DEFAULTS.concurrency,
      perSecond: null,
      timeoutMs: config.timeoutMs ?? DEFAULTS.timeoutMs,
      graceMs: 0,
      giveUpAfterMs: config.giveUpAfterMs ?? DEFAULTS.giveUpAfterMs,
      groupOf: (productCode) => (productCode === SANDBOX_PRODUCTS.slow ? 'slow' : ''),
      reportsProduct: (productCode) => productCode === SANDBOX_PRODUCTS.usage,
      topsUpExpired: true,
      pollEveryS: POLL_EVERY_S,
    },
    order: issue,
    topUp: issue,
    async query(requests) {
      const keys = requests.map((request) => request.key)
      return outcomesOf(requests, await findIssued(db, name, keys))
    },
    cancel: (esim, actionKey) => cancel(sandbox, esim, actionKey),
    suspend: (esim, actionKey) => act(sandbox, 'SUSPEND', esim, actionKey),
    unsuspend: (esim, actionKey) => act(sandbox, 'UNSUSPEND', esim, actionKey),
    revoke: (esim, actionKey) => act(sandbox, 'REVOKE', esim, actionKey),
    report: (esims) => reportUsage(sandbox, usageMs, esims),
    sendSms: async () => ({ kind: 'done' }),
    testing: {
      foreseeReports: (tx, esims, thresholds) => foreseeUsage({ ...sandbox, db: tx }, usageMs, esims, thresholds),
      async settle(requests, outcome) {
        const answers = requests.map(() => (outcome === 'DELIVERED' ? 'ISSUED' : 'REFUSED'))
        const values = issueValues(name, requests).with(3, answers)
        return outcomesOf(
          requests,
          await db.query<IssuedRow>({ name: 'sandbox-settle', text: settleStatement(sandbox), values }),
        )
      },
    },
    test: async () => undefined,
    async *list(since) {
      const rows = await db.query<
        Pick<IssuedRow, 'key' | 'iccidNumber'> & { issuedAt: Date; cancelledAt: Date | null }
      >({
        text: `select key, iccid_number, issued_at, cancelled_at from sandbox_issued
               where supplier = $1 and answer <> 'REFUSED' and topped_up_key is null and issued_at >= $2 order by issued_at`,
        values: [name, since],
      })
      for (const row of rows) {
        yield { key: row.key, iccid: iccidOf(row), cancelled: row.cancelledAt !== null, time: row.issuedAt }
      }
    },
  }
}

/** Pure: decides the outcome from the record of a key. */
function outcomeOf(
  request: SupplierRequest,
  row: IssuedRow | undefined,
  matchingIdOf: (key: string) => string,
): Outcome {
  if (row === undefined) return { kind: 'retry', message: 'the sandbox does not know this order' }
  switch (row.answer) {
    case 'REFUSED':
      return { kind: 'refused', message: 'refused by the sandbox, as the product code requests' }
    case 'LOST':
      return { kind: 'unknown', message: 'no answer from the sandbox, as the product code requests' }
    case 'ISSUED':
      if (request.topUp) return { kind: 'toppedUp' }
      return {
        kind: 'delivered',
        esim: {
          iccid: iccidOf(row),
          smdpAddress: SMDP_ADDRESS,
          matchingId: matchingIdOf(row.key),
          apn: 'sandbox',
          smdpStatus: 'RELEASED',
        },
      }
    default:
      return row.answer satisfies never
  }
}

function issueValues(name: string, requests: SupplierRequest[]): unknown[] {
  return [
    name,
    requests.map((request) => request.key),
    requests.map((request) => request.productCode),
    requests.map(answerOf),
    requests.map((request) => request.topUp?.key ?? null),
    requests.map((request) => request.tenantId),
  ]
}

function answerOf({ productCode, itemNo }: SupplierRequest): IssuedRow['answer'] {
  switch (productCode) {
    case SANDBOX_PRODUCTS.refused:
    case SANDBOX_PRODUCTS.outOfStock:
      return 'REFUSED'
    case SANDBOX_PRODUCTS.partial:
      return itemNo % 2 === 0 ? 'REFUSED' : 'ISSUED'
    case SANDBOX_PRODUCTS.unknown:
      return 'LOST'
    default:
      return 'ISSUED'
  }
}

/** A top-up of an eSIM that was cancelled or revoked is refused. */
const recordStatement = ({ nowOf }: Sandbox) => `
  insert into sandbox_issued (supplier, key, product_code, answer, topped_up_key, issued_at)
  select $1, r.key, r.product_code,
    case when r.topped_up_key is not null and exists (
           select from sandbox_issued e where e.supplier = $1 and e.key = r.topped_up_key
             and (e.cancelled_at is not null or e.revoked_at is not null))
      then 'REFUSED' else r.answer end,
    r.topped_up_key, ${nowOf('r.tenant_id')}
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[])
    as r (key, product_code, answer, topped_up_key, tenant_id)
  on conflict (supplier, key) do update`
const RETURNED = 'returning key, product_code, answer, iccid_number'

const issueStatement = (sandbox: Sandbox) =>
  `${recordStatement(sandbox)} set requests = sandbox_issued.requests + 1 ${RETURNED}`

/** What was answered stays; only a lost answer is found at last. */
const settleStatement = (sandbox: Sandbox) => `${recordStatement(sandbox)} set
  answer = case when sandbox_issued.answer = 'LOST' then excluded.answer else sandbox_issued.answer end ${RETURNED}`

/** An eSIM that no dealer has is cancelled under its own key. */
async function cancel(sandbox: Sandbox, esim: SuppliedEsim, actionKey?: string): Promise<CancelOutcome> {
  const outcome = await act(sandbox, 'CANCEL', esim, actionKey ?? `${esim.key}-cancel`)
  return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
}
