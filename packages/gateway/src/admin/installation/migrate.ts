import type { Command } from 'commander'
import { createDb } from '../../lib/postgres/db.ts'
import type { AdminContext } from '../context.ts'
import { borrowDatabase, prepareDatabase } from '../deps.ts'

export function migrateCommand(migrateNoun: Command, context: AdminContext): void {
  migrateNoun
    .description('Bring the database to this release. A gateway that starts does it too; several may at once.')
    .action(async () => {
      const { url, stop } = await borrowDatabase()
      const db = createDb({ url, poolSize: 1, applicationName: 'dealer-esim admin' })
      try {
        const ran = await prepareDatabase(db, url)
        const human = ran.length === 0 ? 'The database is up to date.' : ran.map((name) => `ran ${name}`).join('\n')
        context.print(human, { ran })
      } finally {
        await db.close()
        await stop()
      }
    })
}
