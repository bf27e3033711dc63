import type { Command } from 'commander'
import { beginRecovery } from '#operations/recovery/begin-recovery.ts'
import { readTransactionIds } from '#operations/recovery/dealer-list-file.ts'
import { getRecoveryReport } from '#operations/recovery/recovery-report.ts'
import { doubtsOf, endWithoutSales, releaseDealers } from '#operations/recovery/release-recovery.ts'
import {
  decideTransactions,
  matchDealerList,
  type WhichTransactions,
} from '#operations/recovery/restored-transactions.ts'
import { type SettledPart, settleCredits, settleSupplier } from '#operations/recovery/settle-doubts.ts'
import { parseEvidence } from '#orders/justification.ts'
import { endHold, listHeldBatches } from '#stock/held-codes.ts'
import { parseIccids } from '#stock/iccid-file.ts'
import { markSoldCodes } from '#stock/mark-sold-codes.ts'
import { findBatchId } from '#stock/stock-batches.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { openFile } from '../kernel/cli-files.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseTime } from '../kernel/parse-options.ts'
import { type TableOptions, tableAnswers, withTableOptions } from '../kernel/table-options.ts'
import { count } from '../kernel/text-table.ts'
import { bullets, matchTable, reportText, soldText } from './recovery-text.ts'

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
      const begun = await context.withDeps((deps) => beginRecovery(deps, { since, again: true }, context.by))
      const already = begun ? '' : ' already'
      context.print(
        `The gateway is${already} in recovery: nothing is bought, cancelled or sent. Start a worker, then: recovery show`,
        { since, begun },
      )
    })
  transactionCommands(recovery, context)
  settleCommands(recovery, context)
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
  withTableOptions(recovery.command('decide <tenant-id> [transaction-ids...]'))
    .description('Record whether transactionIds were sold before the restore. Otherwise the dealer may use them again.')
    .option('--file <file>', 'a CSV file with the column transactionId')
    .option('--all', 'all of the dealer that are in doubt')
    .option('--sold', 'they are refused permanently')
    .option('--not-sold', 'nobody has sold them')
    .requiredOption('--evidence <text>', 'who said so')
    .action(async (tenantId: string, transactionIds: string[], options: DecideOptions) => {
      const { sold, notSold, evidence } = options
      if (sold === notSold) throw new UsageError('Give either --sold or --not-sold.')
      const state = sold ? 'SOLD' : 'NOT_SOLD'
      const which = await whichOf(transactionIds, options)
      const decided = await context.withDeps((deps) =>
        decideTransactions(deps, { tenantId, which, state, evidence }, context.by),
      )
      context.print(`${state}: ${decided.join(', ')}.`, { tenantId, transactionIds: decided, state })
    })
}

interface DecideOptions extends TableOptions {
  file?: string
  all?: boolean
  sold?: boolean
  notSold?: boolean
  evidence: string
}

/** @throws UsageError unless exactly one way is used */
async function whichOf(transactionIds: string[], { file, all, ...options }: DecideOptions): Promise<WhichTransactions> {
  if ([transactionIds.length > 0, file !== undefined, all].filter(Boolean).length !== 1)
    throw new UsageError('Give either transactionIds, --file FILE or --all.')
  if (all) return 'ALL_IN_DOUBT'
  return file === undefined ? transactionIds : readTransactionIds(openFile(file), tableAnswers(options))
}

interface SettleOptions extends TableOptions {
  period?: boolean
  esims?: string
  allEsims?: boolean
  evidence: string
}

function settleCommands(recovery: Command, context: AdminContext): void {
  withTableOptions(recovery.command('settle <supplier>'))
    .description('Record that a doubt about a supplier is settled: releases no longer name it.')
    .option('--period', 'all that it sold since the backup is accounted for, e.g. by its records')
    .option('--esims <file>', 'a CSV file with the column iccid: these eSIMs without an order are accounted for')
    .option('--all-esims', 'all its eSIMs without an order are')
    .requiredOption('--evidence <text>', 'what was done, e.g. which dealers were debited')
    .action(async (supplier: string, options: SettleOptions) => {
      const part = await partOf(options)
      const { evidence } = options
      const esims = await context.withDeps((deps) => settleSupplier(deps, { supplier, part, evidence }, context.by))
      const what = part.kind === 'PERIOD' ? 'what it sold since the backup' : count(esims, 'eSIM')
      context.print(`${supplier}: ${what} settled.`, { supplier, part: part.kind, esims })
    })
  recovery
    .command('credits')
    .description(
      'Record that credits and adjustments since the backup are entered again: releases no longer name them.',
    )
    .requiredOption('--evidence <text>', 'how you know, e.g. the bank statement that you compared')
    .action(async ({ evidence }: { evidence: string }) => {
      await context.withDeps((deps) => settleCredits(deps, { evidence }, context.by))
      context.print('Credits since the backup are settled.', { evidence })
    })
}

/** @throws UsageError unless exactly one of the options is given */
async function partOf({ period, esims, allEsims, ...options }: SettleOptions): Promise<SettledPart> {
  if ([period, esims, allEsims].filter((given) => given !== undefined).length !== 1) {
    throw new UsageError('Give one of --period, --esims FILE and --all-esims.')
  }
  if (esims === undefined) return { kind: period ? 'PERIOD' : 'ALL_ESIMS' }
  return { kind: 'ICCIDS', iccids: await parseIccids(openFile(esims), tableAnswers(options)) }
}

interface StockOptions extends TableOptions {
  sold?: string
  allSold?: boolean
  restUnsold?: boolean
  evidence: string
}

function stockCommand(recovery: Command, context: AdminContext): void {
  withTableOptions(recovery.command('stock <supplier> [batch]'))
    .description(
      'Say which codes were sold since the backup, file by file as dealers answer. The others stay held until you say that the list of a batch, by its id or name, is complete.',
    )
    .option('--sold <file>', 'a CSV file with the column iccid, of one batch or several: these were sold')
    .option('--all-sold', 'all codes of the batch that are still held were sold, or nobody knows')
    .option('--rest-unsold', 'the list of the batch is complete: its codes that are still held are for sale again')
    .requiredOption('--evidence <text>', 'who said so')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- recovery stock warehouse --sold acme.csv --evidence "list of Acme, 1 December"\n  npm run -s admin -- recovery stock warehouse 2026-11-29 --rest-unsold --evidence "all dealers have answered"',
    )
    .action(async (supplier: string, named: string | undefined, options: StockOptions) => {
      const rest = restOf(named, options)
      const iccids =
        options.sold === undefined ? undefined : await parseIccids(openFile(options.sold), tableAnswers(options))
      const evidence = parseEvidence(options.evidence)
      await context.withDeps(async (deps) => {
        const batchId = named === undefined ? undefined : await findBatchId(deps.db, supplier, named)
        const marked = iccids && (await markSoldCodes(deps, { supplier, batchId, iccids, evidence }, context.by))
        const ended =
          rest !== undefined && batchId !== undefined
            ? await endHold(deps, { supplier, batchId, rest, evidence }, context.by)
            : undefined
        const held = (await listHeldBatches(deps.db)).filter((batch) => batch.supplier === supplier)
        const sold = (marked?.sold ?? 0) + (ended?.sold ?? 0)
        const { onSale, noneSold } = ended ?? { onSale: 0, noneSold: false }
        const { alreadySold, ordered } = { alreadySold: [], ordered: [], ...marked }
        const said = { supplier, batchId: batchId ?? null, sold, onSale, noneSold, alreadySold, ordered, held }
        context.print(soldText(said), said)
      })
    })
}

/** @throws UsageError unless the options say something, and a batch is named if its hold ends */
function restOf(batch: string | undefined, { sold, allSold, restUnsold }: StockOptions): 'SOLD' | 'UNSOLD' | undefined {
  if (allSold && (restUnsold || sold !== undefined))
    throw new UsageError('Give --all-sold without --sold and --rest-unsold: it covers all codes that are still held.')
  if (sold === undefined && !allSold && !restUnsold)
    throw new UsageError('Give --sold FILE, --all-sold or --rest-unsold.')
  if (batch === undefined && (allSold || restUnsold))
    throw new UsageError('Name the batch whose list is complete: recovery stock SUPPLIER BATCH.')
  return allSold ? 'SOLD' : restUnsold ? 'UNSOLD' : undefined
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
      const accepted = await context.withDeps((deps) =>
        withSuppliers(deps, async (suppliers) => {
          const release = { tenantIds: all ? undefined : tenantIds, acceptedDoubt: acceptDoubt }
          if (nothingSold === undefined) return releaseDealers({ ...deps, suppliers }, release, context.by)
          await endWithoutSales({ ...deps, suppliers }, nothingSold, context.by)
          return []
        }),
      )
      const isEnded = tenantIds.length === 0
      const done = isEnded ? 'The recovery has ended.' : `Released: ${tenantIds.join(', ')}.`
      const doubts = accepted.length > 0 ? `\nAccepted, and kept in recovery show:\n${bullets(accepted)}` : ''
      context.print(`${done}${doubts}`, { released: isEnded ? 'all' : tenantIds, accepted })
    })
}
