import { orderNoOf } from '@dealer-esim/contract'
import { insertProfiles } from '#esims/insert-profiles.ts'
import { sealTraveller } from '#orders/traveller.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { listViews, saveView } from '#people/account/saved-view.ts'
import { insertPasskey } from '#people/passkeys/passkey.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { payOrders } from '#test/harness/shop.ts'
import { proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { requestTopUp } from '#wallet/requests/create-request.ts'
import { startReplay } from '#webhooks/replay/replay.ts'
import { type ConsoleTestbed, signedInAs } from './console-testbed.ts'

/** Inserts a passkey that nobody can use. */
export async function addPasskey({ db, deps }: Pick<ConsoleTestbed, 'db' | 'deps'>, personId: string): Promise<string> {
  const passkeyId = deps.ids.uuid()
  const credential = { credentialId: deps.ids.bytes(32), publicKey: deps.ids.bytes(77), signCount: 0n, transports: [] }
  await db.tx((tx) => insertPasskey(tx, { passkeyId, personId, name: 'Laptop', ...credential }))
  return passkeyId
}

/** Creates one row of everything that belongs to a tenant, and returns the ids used in paths. */
export async function seedTenant(testbed: ConsoleTestbed, tenantId: string, packageCode: string) {
  const { db, deps } = testbed
  await maintainPartitions(db)
  const [orderId = ''] = await payOrders(db, tenantId, packageCode)
  const iccid = `8949${tenantId.replaceAll(/\D/g, '').padEnd(16, '0').slice(-16)}`
  const esim = { iccid, smdpAddress: 'smdp.test', matchingId: 'M-1' }
  const delivered = { orderId, itemNo: 1, supplier: 'stock', esim, bought: undefined, isReported: false }
  const [notifyId, requestId] = [deps.ids.uuid(), deps.ids.uuid()]
  const [{ profileId } = { profileId: '' }] = await db.tx(async (tx) => {
    const profiles = insertProfiles(tx, deps, tenantId, [delivered])
    const attemptId = deps.ids.uuid()
    for (const [text, ...values] of [
      [
        `update order_items set item_status = 'DELIVERED', supplier = 'stock', product_code = 'P', cost = 5,
          cost_currency = 'EUR' where tenant_id = $1 and order_id = $2`,
        orderId,
      ],
      [`update orders set order_status = 'DELIVERED', due_at = null where tenant_id = $1 and order_id = $2`, orderId],
      [
        `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
          started_at, finished_at, outcome, message)
        values ($1, $2, $3, 1, 'stock', 'ORDER', $2, now(), now(), 'delivered', null)`,
        deps.ids.uuid(),
        orderId,
      ],
      [
        `insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)`,
        deps.cipher.encrypt('https://receiver.test/', tenantId),
      ],
      [
        `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
        values ($1, $2, 'ORDER_PAID', $3, '{"orderStatus": "PAID"}', now())`,
        notifyId,
        orderId,
      ],
      [`insert into deliveries (tenant_id, notify_id, delivery_state, attempts) values ($1, $2, 'DEAD', 1)`, notifyId],
      [
        `insert into delivery_attempts (tenant_id, attempt_id, notify_id, notify_type, attempt_no, url, started_at,
          duration_ms, http_status, outcome, answer, signature_starts)
        values ($1, $2, $3, 'ORDER_PAID', 1, 'https://receiver.test/', now(), 12, 500, 'answered 500', 'no', '0a1b2c3d v1,AbCdEfGh')`,
        attemptId,
        notifyId,
      ],
      [`insert into brands (tenant_id, brand, is_default, settings) values ($1, 'lotus', true, '{"name": "Lotus"}')`],
      [
        `insert into request_ids (tenant_id, request_id, slot) values ($1, $2, $3)`,
        requestId,
        Math.floor(testbed.clock.now() / 3_600_000),
      ],
    ] as [string, ...unknown[]][])
      tx.send({ text, values: [tenantId, ...values] })
    return profiles
  })
  await addAction(testbed, { tenantId, orderId, profileId })
  await addSend(testbed, { tenantId, orderId, profileId })
  const by = { actor: 'cli:seed' as const }
  const from = new Date(testbed.clock.now() - 3_600_000)
  const { replayId } = await startReplay(deps, tenantId, { from }, by)
  const input = { tenantId, amount: 5n, reference: `A-${tenantId}`, reason: 'as agreed' }
  const { adjustmentId } = await proposeAdjustment(deps, input, by)
  const topUpRequestId = await askForTopUp(testbed, tenantId)
  const { personId } = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const tokenInput = { name: 'theirs', scope: 'READ' as const, days: 1 }
  const { tokenId } = await db.tx((tx) => createAccessToken(tx, deps.ids, personId, tokenInput))
  const sessionId = await findSession(testbed, personId)
  const passkeyId = await addPasskey(testbed, personId)
  const noteId = await addNotes(testbed, tenantId, orderId)
  const viewId = await addView(testbed, personId)
  const ofTenant = { profileId, notifyId, requestId, replayId, adjustmentId, topUpRequestId, noteId }
  const ofPerson = { personId, sessionId, tokenId, passkeyId, viewId }
  return { orderNo: orderNoOf(orderId), transactionId: `T-${orderId}`, iccid, ...ofTenant, ...ofPerson }
}

async function addView({ db, deps }: ConsoleTestbed, personId: string): Promise<string> {
  await saveView(deps, personId, { list: 'orders', name: 'theirs', search: 'status=FAILED' })
  const [view] = await listViews(db, personId)
  return view!.viewId
}

async function findSession({ db }: ConsoleTestbed, personId: string): Promise<string> {
  const text = 'select session_id from sessions where person_id = $1'
  const [session] = await db.query<{ sessionId: string }>({ text, values: [personId] })
  return session!.sessionId
}

async function addAction(
  { db, deps }: ConsoleTestbed,
  { tenantId, orderId, profileId }: { tenantId: string; orderId: string; profileId: string },
): Promise<void> {
  await db.query({
    text: `insert into esim_actions (tenant_id, action_id, transaction_id, started_by, action, profile_id, order_id,
             item_no, supplier, action_status, currency_code, created_at, updated_at)
           values ($1, $2, $3, 'DEALER', 'CANCEL', $4, $5, 1, 'stock', 'REFUSED', 'EUR', now(), now())`,
    values: [tenantId, deps.ids.uuid(), `A-${orderId}`, profileId, orderId],
  })
}

/** A traveller to whom the order sends its eSIM. */
async function addSend(
  { db, deps }: ConsoleTestbed,
  { tenantId, orderId, profileId }: { tenantId: string; orderId: string; profileId: string },
): Promise<void> {
  const { recipientHash, traveller } = sealTraveller(deps, tenantId, { email: 'ann@travellers.test' })
  await db.query({
    text: `insert into esim_sends (tenant_id, send_id, order_id, item_no, profile_id, recipient_hash, traveller, send_status,
             created_at, updated_at)
           values ($1, $2, $3, 1, $4, $5, $6, 'SENT', now(), now())`,
    values: [tenantId, deps.ids.uuid(), orderId, profileId, recipientHash, traveller],
  })
}

/** Notes on the dealer and on the order, and a tag. Returns the id of the dealer's note. */
async function addNotes({ db, deps }: ConsoleTestbed, tenantId: string, orderId: string): Promise<string> {
  const noteId = deps.ids.uuid()
  await db.query({
    text: `insert into notes (tenant_id, note_id, text, actor, created_at) values ($1, $2, 'pays late', 'cli:seed', now())`,
    values: [tenantId, noteId],
  })
  await db.query({
    text: `insert into notes (tenant_id, note_id, order_id, text, actor, created_at)
           values ($1, $2, $3, 'the traveller called', 'cli:seed', now())`,
    values: [tenantId, deps.ids.uuid(), orderId],
  })
  await db.query({ text: `update tenants set tags = '{cruises}' where tenant_id = $1`, values: [tenantId] })
  return noteId
}

/** Requests a top-up with a receipt, and returns the id of the request. */
async function askForTopUp({ deps }: ConsoleTestbed, tenantId: string): Promise<string> {
  const receipt = { fileName: 'receipt.png', content: Buffer.from('89504e470d0a1a0a', 'hex').toString('base64') }
  const asked = { tenantId, amount: 5n, reference: `R-${tenantId}`, receipt }
  return (await requestTopUp(deps, asked, { actor: 'cli:seed' })).requestId
}

export type SeededIds = Awaited<ReturnType<typeof seedTenant>>
