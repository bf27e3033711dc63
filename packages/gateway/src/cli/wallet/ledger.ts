import type { Command } from 'commander'
import type { LedgerFault } from '#wallet/verify/verification.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import type { AdminContext } from '../kernel/context.ts'
import { addLedgerKeyCommands } from './ledger-key.ts'

/** Bounds the JSON document. Without --json, every fault is printed. */
const JSON_FAULTS_MAX = 1_000
const PROGRESS_EVERY_MS = 2_000

export function ledgerCommands(ledger: Command, context: AdminContext): void {
  addLedgerKeyCommands(ledger, context)
  ledger
    .command('verify')
    .description(
      'Check that every balance is the sum of its movements, that no movement is missing, that orders, debits and refunds agree, and that every kept checkpoint holds. Only reads, also during live traffic. Exits with 1 if there are faults.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- ledger verify')
    .action((options: { tenant?: string }) =>
      context.withDeps(async (deps) => {
        const faults: LedgerFault[] = []
        let reportedAt = performance.now()
        const counts = await verifyLedger(deps.db, {
          ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
          onFault(fault) {
            if (!context.json) process.stdout.write(`Tenant ${fault.tenantId}: ${fault.message}\n`)
            else if (faults.length < JSON_FAULTS_MAX) faults.push(fault)
          },
          onTenant(_, { tenants, transfers }) {
            if (performance.now() - reportedAt < PROGRESS_EVERY_MS) return
            reportedAt = performance.now()
            context.progress(`tenants ${tenants}, transfers ${transfers} …`)
          },
        })
        const { tenants, transfers, orders } = counts
        const checked = `Checked: tenants ${tenants}, transfers ${transfers}, orders ${orders}.`
        const verdict = counts.faults === 0n ? 'The ledger is consistent.' : `Faults: ${counts.faults}.`
        if (counts.faults > 0n) context.exitCode = 1
        context.print(`${checked} ${verdict}`, { ok: counts.faults === 0n, ...counts, faultList: faults })
      }),
    )
}
