import { formatMoney } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import { withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import { createAlert } from '#alerts/create-alert.ts'
import type { CostsFollowed } from '../rules/follow-costs.ts'
import type { Doubt } from './check-catalogue.ts'

const LISTED_IN_ALERT_MAX = 5
/** The same problem is reported again only after this time. */
const ALERT_INTERVAL = '1 day'

/** What is wrong with a catalogue that was held. */
export function doubtsText(doubts: readonly Doubt[]): string {
  return doubts.map(doubtText).join('; ')
}

function doubtText(doubt: Doubt): string {
  switch (doubt.kind) {
    case 'EMPTY':
      return 'it is empty'
    case 'SHORT':
      return `${doubt.missing} of ${doubt.known} products are missing`
    case 'COSTS_JUMP': {
      const { productCode, before, after } = doubt.example
      return `${doubt.jumped} of ${doubt.known} costs are more than three times as high or as low as before, such as ${productCode}: ${costText(before)} before, ${costText(after)} now`
    }
    case 'OTHER_CURRENCY': {
      const { productCode, before, after } = doubt.example
      return `${doubt.products} products have another currency, such as ${productCode}: ${costText(before)} before, ${costText(after)} now`
    }
    default:
      return doubt satisfies never
  }
}

function costText({ cost, currencyCode }: { cost: bigint; currencyCode: string }): string {
  return `${formatMoney(cost)} ${currencyCode}`
}

/** A supplier's reason, without its final full stop. */
export function failureText(error: Error): string {
  return withStorableMessage({ message: error.message.replace(/(?<!\.)\.+$/, '') }).message
}

interface Problem {
  outcome: 'HELD' | 'FAILED' | 'DONE'
  message: string
  kinds: readonly string[]
}

/** Alerts operators once about a problem, and again if it has changed or has lasted for a day. */
export async function alertAbout(tx: Tx, ids: Ids, supplier: string, problem: Problem): Promise<void> {
  const alertedAs = [problem.outcome, ...problem.kinds].join(' ')
  const rows = await tx.query({
    text: `update supplier_syncs set alerted_as = $2, alerted_at = now()
           where supplier = $1 and (alerted_as is distinct from $2 or alerted_at < now() - $3::interval)
           returning supplier`,
    values: [supplier, alertedAs, ALERT_INTERVAL],
  })
  if (rows.length === 0) return
  createAlert(tx, ids, {
    kind: 'SUPPLIER_CATALOGUE',
    message: alertText(supplier, problem),
    data: { supplier, outcome: problem.outcome },
  })
}

function alertText(supplier: string, { outcome, message }: Problem): string {
  const kept = 'Nothing was changed: products, costs and packages are as before.'
  if (outcome === 'DONE') {
    return `Part of the catalogue of ${supplier} could not be read: ${message}. These products keep their last known cost, which may be out of date. The others were updated. Ask ${supplier} what has changed, then choose Read now on its page.`
  }
  if (outcome === 'FAILED') {
    return `The catalogue of ${supplier} could not be read: ${message}. ${kept} The gateway will retry automatically. To find the cause, test the supplier on its page.`
  }
  return `The catalogue of ${supplier} is held: ${message}. ${kept} Ask ${supplier} whether this is right. If it is wrong, the next sync will replace it. If it is right, accept it on the supplier’s page.`
}

/** Alerts operators that changed costs have taken packages off sale, or left them for an operator to decide. */
export function alertOffSale(
  tx: Tx,
  ids: Ids,
  suppliers: readonly string[],
  { offSale, doubtful }: CostsFollowed,
): void {
  const sentences = [
    ...(offSale.length > 0
      ? [
          `Off sale, because their cost left no margin or their product is gone: ${shortList(offSale, LISTED_IN_ALERT_MAX)}.`,
        ]
      : []),
    ...(doubtful.length > 0
      ? [
          `Kept at their old price, because the new one would be less than half: ${shortList(doubtful, LISTED_IN_ALERT_MAX)}.`,
        ]
      : []),
  ]
  createAlert(tx, ids, {
    kind: 'PACKAGES_OFF_SALE',
    message: `The products of ${suppliers.join(', ')} have changed. ${sentences.join(' ')} Check the sale rules, then preview and apply them on their page.`,
    data: { suppliers, offSale: offSale.length, doubtful: doubtful.length },
  })
}
