import { randomUUID } from 'node:crypto'
import { type EsimAction, type EsimStatus, orderIdOf } from '@dealer-esim/contract'
import type { Answer } from '#test/harness/api-node.ts'
import type { ApiFixture } from './api-fixture.ts'

export function act(stage: ApiFixture, action: EsimAction, esim: object): Promise<Answer> {
  const request = { transactionId: randomUUID(), action, ...esim }
  return stage.json(stage.dealer, `esim/${action.toLowerCase()}`, request)
}

/** Orders an eSIM and inserts it as if its supplier had delivered it. @returns its esimTranNo */
export async function addEsim(stage: ApiFixture, esimStatus: EsimStatus, supplier = 'sandbox'): Promise<string> {
  const { orderNo } = (await stage.order(stage.dealer)).data
  const esimTranNo = stage.node.deps.ids.uuid()
  const secrets = { ac: 'LPA:1$smdp.example.com$X', matchingId: 'X' }
  const encrypted = stage.node.deps.cipher.encrypt(JSON.stringify(secrets), stage.dealer.tenantId)
  await stage.node.deps.db.query({
    text: `insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets,
             esim_status, total_duration, duration_unit, created_at, updated_at)
           values ($1, $2, $3, 1, $5, '8985200012345678904', 'smdp.example.com', $6, $4, 7, 'DAY', now(), now())`,
    values: [stage.dealer.tenantId, esimTranNo, orderIdOf(orderNo), esimStatus, supplier, encrypted],
  })
  return esimTranNo
}

export async function topUpWithBase(stage: ApiFixture): Promise<Answer> {
  const topUp = { transactionId: 'T-310245', packageCode: 'JP_1_7', esimTranNo: await addEsim(stage, 'IN_USE') }
  return stage.json(stage.dealer, 'esim/topup', topUp)
}
