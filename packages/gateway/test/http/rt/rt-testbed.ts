import type { EsimAction } from '@dealer-esim/contract'
import type { ActionOutcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import type { Dealer, Node } from '#test/harness/api-node.ts'
import { createTopUpTestbed, type Esim, type TopUpTestbed } from '#test/orders/topups/topup-testbed.ts'
import { type FamilyAnswer, type FamilyParts, familyCall } from './family-program.ts'

/** Nodes on one database with workers, and a supplier whose top-ups, actions and deliveries a test scripts. */
export interface RtTestbed extends TopUpTestbed {
  actions: {
    /** The supplier's answer. By default the action is carried out. */
    answer: (action: EsimAction) => ActionOutcome | Promise<ActionOutcome>
    calls: EsimAction[]
  }
  /** Posts a signed RT family request, without empty members. */
  post(operation: string, body?: object, parts?: FamilyParts, of?: Dealer, at?: Node): Promise<FamilyAnswer>
  /** The errorCode of such a request; null on success. */
  codeOf(operation: string, body?: object, parts?: FamilyParts, of?: Dealer): Promise<string | null>
  balance(of?: Dealer): Promise<number>
  /** A delivered eSIM that can be cancelled through the API. */
  cancellable(of?: Dealer): Promise<Esim>
  count(text: string, ...values: unknown[]): Promise<number>
}

export async function createRtTestbed(nodeCount = 1): Promise<RtTestbed> {
  const bed = await createTopUpTestbed(nodeCount)
  const { node, dealer, supplier } = bed
  const { db } = node.deps
  const actions: RtTestbed['actions'] = { answer: () => ({ kind: 'done' }), calls: [] }
  scriptActions(supplier.itself, actions)
  const loop = actionLoop(node.deps) // only on the first node: the others are woken when an action ends
  const post: RtTestbed['post'] = (operation, body, parts, of = dealer, at = node) =>
    familyCall(at.baseUrl, of, operation, body, parts)
  return {
    ...{ ...bed, actions, post },
    async codeOf(operation, body, parts, of) {
      return (await post(operation, body, parts, of)).errorCode
    },
    async balance(of) {
      return (await post('balance/query', undefined, {}, of)).obj.balance
    },
    async cancellable(of = dealer) {
      const esim = await bed.delivered('JP_1_7', of)
      await db.query({
        text: `update orders set package_lines = jsonb_set(package_lines, '{0,cancelPolicy}',
                 '{"cancellable": true, "withinDays": null, "feePercent": 0}')
               where tenant_id = $1 and order_id = (select order_id from profiles where profile_id = $2)`,
        values: [of.tenantId, esim.esimTranNo],
      })
      return esim
    },
    async count(text, ...values) {
      const [row] = await db.query<{ count: number }>({ text: `select count(*)::int as count from ${text}`, values })
      return row!.count
    },
    async close() {
      await loop.stop(5_000)
      await bed.close()
    },
  }
}

function scriptActions(supplier: Supplier, actions: RtTestbed['actions']): void {
  const ask = (action: EsimAction) => async () => {
    actions.calls.push(action)
    return actions.answer(action)
  }
  Object.assign(supplier, {
    async cancel() {
      const outcome = await ask('CANCEL')()
      return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
    },
    suspend: ask('SUSPEND'),
    unsuspend: ask('UNSUSPEND'),
    revoke: ask('REVOKE'),
  } satisfies Partial<Supplier>)
}
