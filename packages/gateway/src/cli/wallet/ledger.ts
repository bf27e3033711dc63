import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import type { LedgerFault } from '#wallet/verify/verification.ts'
import { type LedgerCounts, type VerifyOptions, verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { type AdminDeps, withTwins } from '../kernel/cli-deps.ts'
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
      'Check that every balance is the sum of its movements, that no movement is missing, that orders, debits and refunds agree, and that every kept checkpoint holds; of dealers, and counted apart of test twins. Only reads, also during live traffic. Exits with 1 if there are faults.',
    )
    .option('--tenant <id>', 'only this dealer, or this test twin')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- ledger verify')
    .action((options: { tenant?: string }) =>
      context.withDeps(async (deps) => {
        const faults: LedgerFault[] = []
        let reportedAt = performance.now()
        const { live, twins } = await verifyBoth(deps, options.tenant, {
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
        const found = live.faults + (twins?.faults ?? 0n)
        const checked = `Checked: ${countsText(live)}.${twins === undefined ? '' : ` Test twins: ${countsText(twins)}.`}`
        const verdict = found === 0n ? 'The ledger is consistent.' : `Faults: ${found}.`
        if (found > 0n) context.exitCode = 1
        const document = { ok: found === 0n, ...live, twins: twins ?? null, faultList: faults }
        context.print(`${checked} ${verdict}`, document)
      }),
    )
}

interface Verified {
  live: LedgerCounts
  /** Counted apart, because nobody has paid for it; undefined: no dealer has a twin. */
  twins: LedgerCounts | undefined
}

/** Verifies live dealers and test twins, or the only one of them that has this id. @throws Refusal if the id is unknown */
async function verifyBoth(deps: AdminDeps, only: string | undefined, options: VerifyOptions): Promise<Verified> {
  if (only === undefined) {
    const live = await verifyLedger(deps.db, options)
    const twins = await withTwins(deps, { create: false }, async (twins) => twins && verifyLedger(twins.db, options))
    return { live, twins }
  }
  const one = { ...options, tenantId: requireUuid(only, 'tenant') }
  const [dealer] = await deps.db.query({ text: 'select from tenants where tenant_id = $1', values: [one.tenantId] })
  if (dealer) return { live: await verifyLedger(deps.db, one), twins: undefined }
  const twins = await withTwins(deps, { create: false }, async (twins) => twins && verifyLedger(twins.db, one))
  if (twins === undefined) throw notFound('tenant')
  return { live: { tenants: 0n, transfers: 0n, orders: 0n, faults: 0n }, twins }
}

function countsText({ tenants, transfers, orders }: LedgerCounts): string {
  return `tenants ${tenants}, transfers ${transfers}, orders ${orders}`
}
