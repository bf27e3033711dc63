import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NOTES_MAX } from '#tenants/notes.ts'
import { addPackage, payOrders } from '../harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../http/console/console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
  await addPackage(testbed.db, 'JP', [{ supplier: 'sandbox', productCode: 'P' }])
})
afterAll(() => testbed.stop())

it('notes on a dealer and on its orders are separate, and only the operator sees them', async () => {
  const tenantId = await addTenant(testbed, 'Noted')
  const [orderId = ''] = await payOrders(testbed.db, tenantId, 'JP')
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const [onDealer, onOrder] = [`/tenants/${tenantId}/notes`, `/tenants/${tenantId}/orders/${orderNoOf(orderId)}/notes`]
  const texts = async (path: string) =>
    (await operator.call('GET', path)).body.notes.map((note: { text: string }) => note.text)
  for (const [path, text] of [
    [onDealer, 'pays late'],
    [onDealer, 'met in Lisbon'],
    [onOrder, 'the traveller called'],
  ] as const)
    expect((await operator.call('POST', path, { text })).status).toBe(200)
  expect(await texts(onDealer)).toEqual(['met in Lisbon', 'pays late'])
  expect(await texts(onOrder)).toEqual(['the traveller called'])
  const [note] = (await operator.call('GET', onDealer)).body.notes
  expect(note.actor).toContain('@people.test')

  expect((await operator.call('DELETE', `${onDealer}/${note.noteId}`)).status).toBe(200)
  expect((await operator.call('DELETE', `${onDealer}/${note.noteId}`)).status).toBe(404)
  expect(await texts(onDealer)).toEqual(['pays late'])

  const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  expect((await dealer.call('GET', onDealer)).status).toBe(403)
  const log = JSON.stringify((await dealer.call('GET', '/audit')).body)
  for (const secret of ['note.', 'pays late', 'Lisbon']) expect(log).not.toContain(secret)
  const entries = (await operator.call('GET', '/audit?action=note')).body.entries
  expect(entries.map(({ action }: { action: string }) => action)).toEqual([
    'note.delete',
    'note.add',
    'note.add',
    'note.add',
  ])
})

it('each dealer tag is stored once, and never appears in an answer to the dealer', async () => {
  const tenantId = await addTenant(testbed, 'Tagged')
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const path = `/tenants/${tenantId}/tags`
  expect((await operator.call('PUT', path, { tags: ['vip', 'cruises', 'vip', ' '] })).status).toBe(200)
  expect((await operator.call('GET', path)).body).toEqual({ tags: ['cruises', 'vip'] })
  expect((await operator.call('PUT', path, { tags: Array.from({ length: 11 }, (_, n) => `t${n}`) })).status).toBe(400)
  const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  expect((await dealer.call('GET', path)).status).toBe(403)
  expect(JSON.stringify((await dealer.call('GET', `/tenants/${tenantId}`)).body)).not.toContain('cruises')
})

it('a subject can have only a limited number of notes', async () => {
  const tenantId = await addTenant(testbed, 'Full')
  await testbed.db.query({
    text: `insert into notes (tenant_id, note_id, text, actor, created_at)
           select $1, gen_random_uuid(), 'n', 'cli:x', now() from generate_series(1, $2::integer)`,
    values: [tenantId, NOTES_MAX],
  })
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const refused = await operator.call('POST', `/tenants/${tenantId}/notes`, { text: 'one more' })
  expect([refused.status, refused.body.code]).toEqual([409, 'TOO_MANY_NOTES'])
})

it('a dealer’s questions leave the operator’s notes room, and are limited by dealer, not by address', async () => {
  const [tenantId, other] = [await addTenant(testbed, 'Asking'), await addTenant(testbed, 'Neighbour')]
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const notes = `/tenants/${tenantId}/notes`
  expect((await operator.call('POST', notes, { text: 'pays late' })).status).toBe(200)
  await testbed.db.query({
    // Newer than the operator's note.
    text: `insert into notes (tenant_id, note_id, text, actor, is_question, created_at)
           select $1, ('ffffffff-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'q', 'cli:x', true, now()
           from generate_series(1, $2::integer) n`,
    values: [tenantId, NOTES_MAX],
  })
  const asker = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const full = await asker.call('POST', `/tenants/${tenantId}/questions`, { text: 'one more' })
  expect([full.status, full.body.code]).toEqual([409, 'TOO_MANY_NOTES'])
  expect((await operator.call('POST', notes, { text: 'met in Lisbon' })).status).toBe(200)
  const texts = (await operator.call('GET', notes)).body.notes.map((note: { text: string }) => note.text)
  expect(texts).toHaveLength(NOTES_MAX + 2)
  expect(texts).toEqual(expect.arrayContaining(['pays late', 'met in Lisbon']))

  await testbed.db.query({ text: 'delete from notes where tenant_id = $1 and is_question', values: [tenantId] })
  const ask = async (of: typeof asker, id: string) =>
    (await of.call('POST', `/tenants/${id}/questions`, { text: 'how?' })).status
  // Two people with two addresses.
  const colleague = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  const asked: number[] = []
  for (let count = 0; count < 12; count++) asked.push(await ask(count % 2 ? asker : colleague, tenantId))
  expect(asked.filter((status) => status === 200)).toHaveLength(9) // the refused one above counts too
  expect(asked.at(-1)).toBe(429)
  expect(await ask(await signedInAs(testbed, 'DEALER_STAFF', other), other)).toBe(200)
})
