import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkValues } from '#operations/doctor/check-values.ts'
import { createFindings } from '#operations/doctor/finding.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addSupplier, createShop, type Shop } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
const cipher = createCipher([Buffer.alloc(32, 7)])
const outbound = createOutbound()
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'cards', 'stock')
  await addPackage(shop.db, 'FR', [{ supplier: 'cards', productCode: 'P' }])
})
afterAll(async () => {
  await outbound.close()
  await shop.close()
  await database.drop()
})

const exec = (text: string, ...values: unknown[]) => shop.db.query({ text, values })

async function messages(): Promise<string[]> {
  const found = await checkValues({ config: {}, outbound, db: shop.db, cipher }, createFindings('values'))
  return found.map(({ state, message }) => `${state} ${message}`)
}

/** Stores codes as if by an earlier release, which still accepted them. */
async function addBatch(batchName: string, codes: readonly { iccid: string; ac: string; confirmationCode?: string }[]) {
  const batchId = shop.ids.uuid()
  await exec(
    `insert into stock_batches (supplier, batch_id, product_code, batch_name, codes, available, imported_at)
     values ('cards', $1, 'P', $2, $3, $3, now())`,
    batchId,
    batchName,
    codes.length,
  )
  for (const { iccid, ...code } of codes) {
    const [, smdpAddress, matchingId] = code.ac.split('$')
    const secrets = cipher.encrypt(JSON.stringify({ smdpAddress, matchingId, ...code }), supplierOwner('cards'))
    await exec(
      `insert into stock_codes (supplier, code_id, batch_id, product_code, fingerprint, iccid, secrets, imported_at)
       values ('cards', $1, $2, 'P', decode(md5($3), 'hex'), $3, $4, now())`,
      shop.ids.uuid(),
      batchId,
      iccid,
      secrets,
    )
  }
  return batchId
}

test('undamaged values are not reported', async () => {
  await addBatch('sound', [
    { iccid: '8985200000000010126', ac: 'LPA:1$smdp.example.com$A' },
    { iccid: '8985200000000010134', ac: 'LPA:1$smdp.example.com$B$$1', confirmationCode: '4711' },
  ])
  await addBatch('one', [{ iccid: '8985200000005000000', ac: 'LPA:1$smdp.example.com$C' }])
  expect(await messages()).toEqual([])
})

test('damaged names are listed, with advice on how to correct them', async () => {
  await exec(`update packages set name = 'C' || chr(65533) || 'te' where package_code = 'FR'`)
  expect(await messages()).toEqual([
    expect.stringMatching(/^WARNING Dealers see damaged letters .*: FR\. .*--encoding NAME/),
  ])
  await exec(`update packages set name = 'Côte' where package_code = 'FR'`)
})

test('prices that no dealer can pay are listed with their location', async () => {
  await exec(
    `insert into list_prices (package_code, currency_code, price, removed, first_set_at, updated_at)
     values ('FR', 'UDS', 45000, false, now(), now()), ('FR', 'JPY', 4505000, false, now(), now())`,
  )
  expect(await messages()).toEqual([
    expect.stringMatching(/UDS is not an ISO 4217 currency.* the list price of package FR\. Enter the amount/),
    expect.stringMatching(
      /JPY has no decimal places, but 1 packages, such as FR, .*price set FR AMOUNT --currency JPY/,
    ),
  ])
  await exec(`delete from list_prices where currency_code in ('UDS', 'JPY')`)
})

test('batches whose ICCIDs all end in zeros are listed, and so are codes without confirmation codes', async () => {
  const cut = await addBatch('cut', [
    { iccid: '8985200000006010000', ac: 'LPA:1$smdp.example.com$D' },
    { iccid: '8985200000006020000', ac: 'LPA:1$smdp.example.com$E' },
  ])
  const asked = await addBatch('asked', [{ iccid: '8985200000000099991', ac: 'LPA:1$smdp.example.com$F$$1' }])
  expect(await messages()).toEqual([
    expect.stringContaining(
      `batch “cut” of cards: all 2 end in zeros, and 2 are for sale. End the sale: stock withdraw cards ${cut}.`,
    ),
    expect.stringMatching(
      new RegExp(`1 activation codes of batch ${asked} of cards, such as that of ICCID 8985200000000099991`),
    ),
  ])
})
