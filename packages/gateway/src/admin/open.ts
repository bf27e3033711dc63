import { connect, type Db } from '../lib/db.ts'
import { type Ids, systemIds } from '../lib/ids.ts'

/** What admin commands work with. */
export interface AdminDeps {
  db: Db
  ids: Ids
}

/** Connects to the gateway's database. */
export async function openDeps(): Promise<{ deps: AdminDeps; close(): Promise<void> }> {
  const url = process.env.DATABASE_URL
  if (!url) throw new Error('DATABASE_URL is not set')
  const db = connect({ url, poolSize: 2, applicationName: 'dealer-esim admin' })
  return { deps: { db, ids: systemIds }, close: () => db.close() }
}
