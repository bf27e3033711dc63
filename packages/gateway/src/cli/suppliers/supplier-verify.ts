import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { findConfirmedProduct } from '#suppliers/verification/confirmed-product.ts'
import { verifySupplier } from '#suppliers/verification/verify-supplier.ts'
import { withSuppliers } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'

interface VerifyOptions {
  buy: string
  confirm?: string
}

/** Buys one eSIM from a wholesaler, so that the supplier counts as verified on this gateway. */
export function supplierVerifyCommand(supplier: Command, context: AdminContext): void {
  supplier
    .command('verify <name>')
    .description('Buy one real eSIM from a supplier, look it up, and cancel it where the supplier can.')
    .requiredOption('--buy <package>', 'the supplier’s product code, or a package of ours that it supplies')
    .option('--confirm <price>', 'buy at this price; without this option the command only states the price')
    .action(async (name: string, options: VerifyOptions) => {
      await context.withDeps(async (deps) => {
        await withSuppliers(deps, async (suppliers) => {
          const configured = suppliers.get(name)
          if (configured === undefined) throw notFound('usable supplier', name)
          const { supplier } = configured
          const purchase = await findConfirmedProduct(deps.db, supplier, options)
          const done = await verifySupplier(deps, { supplier }, purchase, context.by)
          const { cancelled, isVerified, ...rest } = done
          const end = cancelled.kind === 'cancelled' ? 'and cancelled' : `and not cancelled: ${cancelled.message}`
          const begin = `${isVerified ? 'Verified' : 'NOT verified:'} ${name}: the eSIM ${done.iccid} was bought, found ${end}.`
          const next = isVerified
            ? 'dailySpendLimit may now be removed from its configuration.'
            : `Its costs are wrong in your books. Record its answers: npm run -s admin -- supplier record ${name} --to FILE`
          if (!isVerified) context.exitCode = 1
          context.print(`${begin}\n${done.charge.message}\n${next}`, {
            ...{ name, verified: isVerified },
            ...{ ...rest, cancelled: cancelled.kind },
          })
        })
      })
    })
}
