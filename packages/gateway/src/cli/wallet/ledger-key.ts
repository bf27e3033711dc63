import type { Command } from 'commander'
import { listLedgerKeys, rotateLedgerKey } from '#wallet/books/ledger-keys.ts'
import type { AdminContext } from '../kernel/context.ts'
import { table } from '../kernel/text-table.ts'

const OVERLAP_HOURS = 24

/** `ledger key list` and `ledger key rotate`. */
export function addLedgerKeyCommands(ledger: Command, context: AdminContext): void {
  const key = ledger.command('key').description('keys that sign checkpoints of ledgers')
  key
    .command('list')
    .description('List the keys that have signed checkpoints, and those that will.')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- ledger key list')
    .action(() =>
      context.withDeps(async ({ db }) => {
        const keys = await listLedgerKeys(db)
        const text = table(
          keys,
          [
            { title: 'public key', value: (each) => each.publicKey },
            { title: 'signs from', value: (each) => each.validFrom },
            { title: 'until', value: (each) => each.validUntil ?? '' },
            { title: 'endorsed', value: (each) => (each.endorsement === null ? 'no: a first key' : 'yes') },
          ],
          'No checkpoint was signed yet. The first one creates a key.',
        )
        context.print(text, { keys })
      }),
    )
  key
    .command('rotate')
    .description(
      'Create the next key, endorsed by the current one. It is published immediately and begins to sign a day later; the current key signs until then.',
    )
    .addHelpText('after', '\nExample:\n  npm run -s admin -- ledger key rotate')
    .action(() =>
      context.withDeps(async (deps) => {
        const next = await rotateLedgerKey(deps, OVERLAP_HOURS, context.by)
        context.print(`The key ${next.publicKey} begins to sign at ${next.validFrom}.`, { key: next })
      }),
    )
}
