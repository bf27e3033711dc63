import { formatMoney } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getRecoveryReport, type RecoveryReport } from '#operations/recovery/recovery-report.ts'
import { beginRecovery } from '#operations/recovery/recovery-state.ts'
import { doubtsOf, endWithoutSales, releaseDealers } from '#operations/recovery/release-recovery.ts'
import { decideTransaction, type ListMatch, matchDealerList } from '#operations/recovery/restored-transactions.ts'
import { parseEvidence } from '#orders/justification.ts'
import { releaseHeldCodes, type SoldSince } from '#stock/held-codes.ts'
import { parseIccids } from '#stock/iccid-file.ts'
import { inTransaction } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { openFile } from '../kernel/cli-files.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseTime } from '../kernel/parse-options.ts'
import { type TableOptions, tableAnswers, withTableOptions } from '../kernel/table-options.ts'
import { count, table } from '../kernel/text-table.ts'

/** What is held after a restore, and its release. */
export function recoveryCommands(recovery: Command, context: AdminContext): void {
  recovery
    .command('show')
    .description('Show what is ours, what suppliers have beyond it, what is in doubt, and what to do about each.')
    .action(() =>
      context.withDeps((deps) =>
        withSuppliers(deps, async (suppliers) => {
          const report = await getRecoveryReport({ db: deps.db, suppliers })
          context.print(reportText(report), { ...report, doubts: doubtsOf(report) })
        }),
      ),
    )
  recovery
    .command('start')
    .description(
      'Begin the recovery after a restore that the command restore did not make, such as a point-in-time restore of a managed server. No gateway may run.',
    )
    .requiredOption('--since <time>', 'up to when the server has replayed')
    .action(async (options: { since: string }) => {
      const since = parseTime(options.since, '--since')
      await context.withDeps((deps) => beginRecovery(deps, since, context.by))
      context.print(
        'The gateway is in recovery: nothing is bought, cancelled or sent. Start a worker, then: recovery show',
        {
          since,
        },
      )
    })
  transactionCommands(recovery, context)
  stockCommand(recovery, context)
  releaseCommand(recovery, context)
}

function transactionCommands(recovery: Command, context: AdminContext): void {
  withTableOptions(recovery.command('list <tenant-id> <file>'))
    .description(
      'Match a dealer’s own list of its orders since the backup, a CSV file with the columns transactionId,orderNo,amount. None of them can then be bought again.',
    )
    .action(async (tenantId: string, path: string, options: TableOptions) => {
      const answers = tableAnswers(options)
      await context.withDeps(async (deps) => {
        const matches = await matchDealerList(deps, { tenantId, file: openFile(path), answers }, context.by)
        context.print(matchTable(matches), { tenantId, matches })
      })
    })
  recovery
    .command('decide <tenant-id> <transaction-ids...>')
    .description('Record whether transactionIds were sold before the restore. Otherwise the dealer may use them again.')
    .option('--sold', 'they are refused permanently')
    .option('--not-sold', 'nobody has sold them')
    .requiredOption('--evidence <text>', 'who said so')
    .action(async (tenantId: string, transactionIds: string[], options: DecideOptions) => {
      const { sold, notSold, evidence } = options
      if (sold === notSold) throw new UsageError('Give either --sold or --not-sold.')
      const state = sold ? 'SOLD' : 'NOT_SOLD'
      await context.withDeps((deps) =>
        inTransaction(deps, async (within) => {
          for (const transactionId of transactionIds)
            await decideTransaction(within, { tenantId, transactionId, state, evidence }, context.by)
        }),
      )
      context.print(`${state}: ${transactionIds.join(', ')}.`, { tenantId, transactionIds, state })
    })
}

interface DecideOptions {
  sold?: boolean
  notSold?: boolean
  evidence: string
}

interface StockOptions extends TableOptions {
  sold?: string
  allSold?: boolean
  noneSold?: boolean
  evidence: string
}

function stockCommand(recovery: Command, context: AdminContext): void {
  withTableOptions(recovery.command('stock <supplier> <batch>'))
    .description('Say which held codes of a batch were sold since the backup. The others are for sale again.')
    .option('--sold <file>', 'a CSV file with the column iccid: these were sold')
    .option('--all-sold', 'all were sold, or nobody knows')
    .option('--none-sold', 'none was sold')
    .requiredOption('--evidence <text>', 'who said so')
    .action(async (supplier: string, batchId: string, options: StockOptions) => {
      const sold = await soldOf(options)
      const evidence = parseEvidence(options.evidence)
      await context.withDeps(async (deps) => {
        const released = await releaseHeldCodes(deps, { supplier, batchId, sold, evidence }, context.by)
        const text = `${count(released.sold, 'code')} sold, ${count(released.onSale, 'code')} for sale again.`
        context.print(text, { supplier, batchId, ...released })
      })
    })
}

/** @throws UsageError unless exactly one of the options is given */
async function soldOf({ sold, allSold, noneSold, ...options }: StockOptions): Promise<SoldSince> {
  if ([sold, allSold, noneSold].filter((given) => given !== undefined).length !== 1) {
    throw new UsageError('Give one of --sold FILE, --all-sold and --none-sold.')
  }
  if (sold === undefined) return { kind: allSold ? 'ALL' : 'NONE' }
  return { kind: 'ICCIDS', iccids: await parseIccids(openFile(sold), tableAnswers(options)) }
}

interface ReleaseOptions {
  all?: boolean
  acceptDoubt?: string
  nothingSold?: string
}

function releaseCommand(recovery: Command, context: AdminContext): void {
  recovery
    .command('release [tenant-ids...]')
    .description('Release dealers, or all: their requests are answered, and suppliers are called for them again.')
    .option('--all', 'end the recovery')
    .option('--accept-doubt <why>', 'although something is in doubt')
    .option('--nothing-sold <why>', 'end the recovery, because nothing was sold since the backup')
    .action(async (tenantIds: string[], { all, acceptDoubt, nothingSold }: ReleaseOptions) => {
      const ways = [tenantIds.length > 0, all, nothingSold !== undefined].filter(Boolean)
      if (ways.length !== 1) throw new UsageError('Give either tenant ids, --all or --nothing-sold "why".')
      await context.withDeps((deps) =>
        withSuppliers(deps, async (suppliers) => {
          const release = { tenantIds: all ? undefined : tenantIds, acceptedDoubt: acceptDoubt }
          if (nothingSold !== undefined) await endWithoutSales({ ...deps, suppliers }, nothingSold, context.by)
          else await releaseDealers({ ...deps, suppliers }, release, context.by)
        }),
      )
      const isEnded = tenantIds.length === 0
      context.print(isEnded ? 'The recovery has ended.' : `Released: ${tenantIds.join(', ')}.`, {
        released: isEnded ? 'all' : tenantIds,
      })
    })
}

const SUPPLIER_ADVICE = {
  COMPARED: 'compared: what it sold is below',
  NOT_COMPARED: 'in doubt: start a worker, and wait for its list',
  NO_LIST: 'in doubt: ask it what it sold since the backup',
  STOCK: 'held: say what left each batch',
  RANGE: 'in doubt, paused: ask it, begin iccidRange after the last ICCID sold, then resume it',
}

function reportText(report: RecoveryReport): string {
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
      { title: 'WHAT IT SOLD', value: (row) => SUPPLIER_ADVICE[row.state] },
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
    section(report.theirs, 'Theirs: find the dealer of each order in the dealers’ lists, and debit it: wallet adjust', [
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'KEY', value: (row) => row.key },
      { title: 'ICCID', value: (row) => row.iccid },
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
    section(report.batches, 'In doubt: held codes. Say what was sold: recovery stock', [
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'BATCH', value: (row) => row.batchId },
      { title: 'NAME', value: (row) => row.batchName },
      { title: 'PRODUCT', value: (row) => row.productCode },
      { title: 'HELD', value: (row) => String(row.held), right: true },
    ]),
    section(report.dealers, 'Dealers: ask each for its list (recovery list), then: recovery release', [
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'NAME', value: (row) => row.clientName },
      { title: 'LIST', value: (row) => (row.listed ? 'read' : 'missing') },
      { title: 'STATE', value: (row) => (row.released ? 'released' : 'held') },
    ]),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
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

function matchTable(matches: readonly ListMatch[]): string {
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
