import { formatMoney } from '@dealer-esim/contract'
import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { AcceptedDoubts, RecoveryReport } from '#operations/recovery/recovery-report.ts'
import { debitCommand, owedText, type RestoredDebit } from '#operations/recovery/restored-debits.ts'
import type { ListMatch } from '#operations/recovery/restored-transactions.ts'
import type { HeldBatch } from '#stock/held-codes.ts'
import { count, table } from '../kernel/text-table.ts'

/* What the command `recovery` prints. */

const SUPPLIER_ADVICE = {
  COMPARED: 'compared: what it sold is below',
  NOT_COMPARED: 'in doubt: start a worker, and wait for its list',
  NO_LIST: 'in doubt: ask it what it sold since the backup',
  STOCK: 'held: say what left each batch',
  RANGE: 'in doubt, paused: ask it, begin iccidRange after the last ICCID sold, then resume it',
}

export function reportText(report: RecoveryReport): string {
  const { recovery } = report
  const head =
    recovery === null
      ? 'The gateway is not in recovery.'
      : `In recovery: the database does not know what happened from ${recovery.backupStartedAt.toISOString()} to ${recovery.restoredAt.toISOString()}.`
  const parts = [
    head,
    ...(recovery && recovery.preparedAt === null
      ? ['Start a worker: it holds unsold codes and open orders first.']
      : []),
    section(report.suppliers, 'Suppliers', [
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'TYPE', value: (row) => row.type },
      {
        title: 'WHAT IT SOLD',
        value: (row) => (row.evidence === null ? SUPPLIER_ADVICE[row.state] : `settled: ${row.evidence}`),
      },
    ]),
    section(report.openOrders, 'Ours: open at the backup. Ask the suppliers about their keys, then: order settle', [
      { title: 'ORDER', value: (row) => row.orderNo },
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'SUPPLIERS', value: (row) => row.suppliers.join(', ') },
    ]),
    section(
      report.openActions,
      'Ours: actions open at the backup. Ask the suppliers about the eSIMs, then: esim settle',
      [
        { title: 'ACTION', value: (row) => row.action },
        { title: 'ESIM', value: (row) => row.profileId },
        { title: 'ICCID', value: (row) => row.iccid },
        { title: 'TENANT', value: (row) => row.tenantId },
        { title: 'SUPPLIER', value: (row) => row.supplier },
      ],
    ),
    section(report.theirs, 'Theirs: debit the dealer of each (wallet adjust), then: recovery settle', [
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'KEY', value: (row) => row.key },
      { title: 'ICCID', value: (row) => row.iccid },
      { title: 'SETTLED', value: (row) => row.evidence ?? '' },
    ]),
    section(report.transactions, 'In doubt: transactionIds. They buy nothing until: recovery decide', [
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'TRANSACTION ID', value: (row) => row.transactionId },
      { title: 'STATE', value: (row) => row.state },
      {
        title: 'SEEN',
        value: (row) => [row.repeated && 'repeated', row.listed && 'listed'].filter(Boolean).join(', '),
      },
      { title: 'ORDER', value: (row) => row.orderNo ?? '' },
      { title: 'AMOUNT', value: (row) => (row.amount === null ? '' : formatMoney(row.amount)), right: true },
      { title: 'PROOF', value: (row) => row.proof ?? '' },
    ]),
    section(report.debits, 'To debit: orders that were sold before the restore', [
      { title: 'DEALER', value: (row) => row.clientName },
      { title: 'TRANSACTION ID', value: (row) => row.transactionId },
      { title: 'ORDER', value: (row) => row.orderNo ?? '' },
      {
        title: 'AMOUNT',
        value: (row) => (row.amount === null ? 'ask the dealer' : `${formatMoney(row.amount)} ${row.currencyCode}`),
        right: true,
      },
      { title: 'STATE', value: (row) => DEBIT_STATES[row.state] },
    ]),
    owedLines(report.debits),
    section(
      report.batches,
      'In doubt: held codes. Say what was sold: recovery stock SUPPLIER --sold, then --rest-unsold',
      [
        { title: 'SUPPLIER', value: (row) => row.supplier },
        { title: 'BATCH', value: (row) => row.batchId },
        { title: 'NAME', value: (row) => row.batchName },
        { title: 'PRODUCT', value: (row) => row.productCode },
        { title: 'HELD', value: (row) => String(row.held), right: true },
      ],
    ),
    section(report.dealers, 'Dealers: ask each for its list (recovery list), then: recovery release', [
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'NAME', value: (row) => row.clientName },
      { title: 'LIST', value: (row) => (row.listed ? 'read' : 'missing') },
      { title: 'STATE', value: (row) => (row.released ? 'released' : 'held') },
    ]),
    ...report.accepted.map(acceptedText),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

interface SoldCodesSaid {
  supplier: string
  sold: number
  onSale: number
  noneSold: boolean
  alreadySold: readonly string[]
  ordered: readonly string[]
  held: readonly HeldBatch[]
}

export function soldText({ supplier, sold, onSale, noneSold, alreadySold, ordered, held }: SoldCodesSaid): string {
  return [
    `${count(sold, 'code')} marked as sold, ${count(onSale, 'code')} for sale again.`,
    ...(noneSold
      ? [
          `No code of the batch is marked as sold. If any were sold since the backup, mark them now: recovery stock ${supplier} --sold FILE --evidence TEXT`,
        ]
      : []),
    ...(alreadySold.length > 0 ? [`Marked before: ${count(alreadySold.length, 'ICCID')}.`] : []),
    ...(ordered.length > 0
      ? [`Orders of the database have these, so nothing was changed: ${ordered.join(', ')}.`]
      : []),
    ...(held.length > 0
      ? [
          `Still held, until --rest-unsold or --all-sold: ${held.map((batch) => `${batch.held} of ${batch.batchName} (${batch.batchId})`).join(', ')}.`,
        ]
      : []),
  ].join('\n')
}

function acceptedText({ tenantIds, acceptedAt, because, doubts }: AcceptedDoubts): string {
  const who = tenantIds === null ? 'all dealers were released' : `${tenantIds.join(', ')} were released`
  return `Accepted when ${who}, ${acceptedAt.toISOString()}: ${because}\n${bullets(doubts)}`
}

const DEBIT_STATES = {
  NOT_DEBITED: 'not debited',
  PROPOSED: 'waits for approval (wallet approve)',
  DEBITED: 'debited',
  OTHER_AMOUNT: 'another amount has this reference',
}

/** What each dealer still owes, and the commands that propose its debits. */
function owedLines(debits: readonly RestoredDebit[]): string {
  const owed = debits.filter(({ state }) => state !== 'DEBITED')
  const dealers = [...groupBy(owed, ({ tenantId }) => tenantId).values()]
  const sums = dealers.map((ofDealer) => `${ofDealer[0]!.clientName} owes ${owedText(ofDealer)}`)
  const commands = owed.flatMap((debit) => debitCommand(debit) ?? [])
  return [...sums, ...(commands.length > 0 ? ['Propose each; another person approves it:', ...commands] : [])].join(
    '\n',
  )
}

export function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n')
}

function section<Row>(rows: readonly Row[], title: string, columns: Parameters<typeof table<Row>>[1]): string {
  return rows.length === 0 ? '' : `${title}\n${table(rows, columns, '')}`
}

const MATCHES = {
  OURS: 'known',
  SUPPLIER_HAS_IT: 'sold: debit it',
  DEALER_ALONE: 'in doubt',
  CONTRADICTION: 'contradicts the database',
}

export function matchTable(matches: readonly ListMatch[]): string {
  return table(
    matches,
    [
      { title: 'ROW', value: (row) => String(row.row), right: true },
      { title: 'TRANSACTION ID', value: (row) => row.transactionId },
      { title: 'ORDER', value: (row) => row.orderNo },
      { title: 'AMOUNT', value: (row) => formatMoney(row.amount), right: true },
      { title: 'RESULT', value: (row) => MATCHES[row.match] },
      { title: 'DETAIL', value: (row) => row.detail ?? '' },
    ],
    'The list has no orders.',
  )
}
