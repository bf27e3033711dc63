import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { Command } from 'commander'
import { borrowDatabase, prepareDatabase } from '../kernel/cli-deps.ts'
import type { AdminContext } from '../kernel/context.ts'

export function migrateCommand(migrateNoun: Command, context: AdminContext): void {
  migrateNoun
    .description(
      'Migrate the database to this release. A gateway also does this when it starts; concurrent runs are safe.',
    )
    .action(async () => {
      const database = await borrowDatabase()
      const { url, config, stop } = database
      const db = createDb({ url, schema: config.databaseSchema, poolSize: 1, applicationName: 'dealer-esim admin' })
      try {
        const ran = await prepareDatabase(db, database)
        const human = ran.length === 0 ? 'The database is up to date.' : ran.map((name) => `ran ${name}`).join('\n')
        context.print(human, { ran })
      } finally {
        await db.close()
        await stop()
      }
    })
}
