import { isTestAppKey, LIST_FINDINGS } from '@dealer-esim/contract'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { AlreadyReported, EXIT } from '../exit-codes.ts'
import { type AuditResult, auditBooks } from './audit-books.ts'
import { readOrders, readState, writeState } from './audit-files.ts'

interface AuditOptions {
  state?: string
  orders?: string
  newOnly?: boolean
}

/** `audit`: whether the ledger is the one of the last audit, continued. */
export function auditCommand(program: Command, context: () => Context): void {
  program
    .command('audit')
    .description('check that no entry of your account was changed, removed or inserted since the last audit')
    .option(
      '--state <file>',
      'file that keeps what this audit has seen, for the next one; created if it does not exist',
    )
    .option('--orders <file>', 'your own list of orders: a CSV file with the columns transactionId and amount')
    .option('--new-only', 'read only new entries: then earlier ones are not compared again')
    .addHelpText('after', HELP)
    .action(async ({ state: stateFile, orders: ordersFile, newOnly = false }: AuditOptions) => {
      const { client, credentials, print, io } = context()
      const orders = ordersFile === undefined ? undefined : await readOrders(io.cwd, ordersFile)
      const state = stateFile === undefined ? undefined : await readState(io.cwd, stateFile)
      const result = await auditBooks(client(), { state, isTest: isTestAppKey(credentials().appKey), orders, newOnly })
      // A ledger that differs leaves the state as it is, so that the next audit finds the same.
      if (result.verdict === 'EQUAL' && stateFile !== undefined) await writeState(io.cwd, stateFile, result.state)
      print(describe(result), documentOf(result))
      if (result.verdict === 'DIFFERS') throw new AlreadyReported(EXIT.REFUSED)
      if (result.verdict === 'CANNOT_TELL') throw new AlreadyReported(EXIT.OUTCOME_UNKNOWN)
    })
}

function describe({ verdict, finding, state, restoredAt, wasReset, compared }: AuditResult): string {
  const lines = finding === undefined ? [] : [`${finding.message}\n`]
  if (restoredAt !== undefined)
    lines.unshift(`Restored at entry ${restoredAt}: the operator has signed a record of it.\n`)
  if (wasReset)
    lines.unshift(
      'The test twin was reset since the last audit: this is another ledger, audited from its first entry.\n',
    )
  if (verdict === 'EQUAL')
    lines.push(`Equal: ${state.leaves.length} entries, ${compared} compared with the last audit.\n`)
  else if (verdict === 'CANNOT_TELL') lines.push('This audit cannot tell.\n')
  else lines.push(finding && LIST_FINDINGS.has(finding.id) ? 'Your list differs.\n' : 'The ledger differs.\n')
  return lines.join('')
}

function documentOf({ verdict, finding, state, restoredAt, wasReset, compared }: AuditResult): object {
  return {
    verdict,
    entries: state.leaves.length,
    compared,
    restoredAt: restoredAt ?? null,
    wasReset,
    finding: finding === undefined ? null : { entryNo: finding.entryNo, message: finding.message },
  }
}

const HELP = `
Reads all entries of the account, checks each balance, rebuilds the tree, and compares it with a checkpoint that the gateway signs
and with what the state file kept. An amount in your
list is 45000 in 1/10 000, or 4.50.

Exit codes of audit:
  0  equal
  1  differs: the first entry that differs is named
  2  the command line or a file is wrong
  3  cannot tell: no answer, or no checkpoint that covers the entries

Examples:
  $ dealer-esim audit --state books.json
  $ dealer-esim audit --state books.json --orders my-orders.csv`
