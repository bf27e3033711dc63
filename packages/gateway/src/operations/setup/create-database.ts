import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { messageOf } from '@dealer-esim/lib/postgres/errors.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { findConnectionFault } from '../doctor/check-database.ts'

/** A role and a database with the same name, owned by the role. */
export interface NewDatabase {
  /** The URL of a role that is allowed to create roles and databases. */
  adminUrl: string
  name: string
  password: string
}

/** The gateway's DATABASE_URL on the server of the administrator's URL. */
export function newDatabaseUrl({ adminUrl, name, password }: NewDatabase): string {
  const url = new URL(adminUrl)
  url.username = name
  url.password = password
  url.pathname = `/${name}`
  return url.href
}

/**
 * Checks that the role and the database can be created. With `isOurs`, an earlier setup may already have created them.
 * @throws Refusal that says what to do instead
 */
export async function checkNewDatabase({ adminUrl, name }: NewDatabase, isOurs: boolean): Promise<void> {
  await withServer(adminUrl, async (db) => {
    const [found] = await db.query<{ role: boolean; database: boolean; mayCreate: boolean }>({
      text: `select exists (select from pg_roles where rolname = $1) as role,
                    exists (select from pg_database where datname = $1) as database,
                    (rolsuper or (rolcreaterole and rolcreatedb)) as may_create
             from pg_roles where rolname = current_user`,
      values: [name],
    })
    if (!found?.mayCreate)
      throw refusal(
        'This administrator may not create roles and databases. Use the URL of an administrator who may, or --database-url.',
      )
    if (isOurs || !(found.role || found.database)) return
    const what = [...(found.role ? ['role'] : []), ...(found.database ? ['database'] : [])].join(' and a ')
    throw refusal(
      `The server already has a ${what} named ${name}. Choose another name with --database-name, or specify an existing database with --database-url.`,
    )
  })
}

/** Checks that the gateway can use an existing database. @throws Refusal that says what to do instead */
export async function checkExistingDatabase(url: string): Promise<void> {
  const db = createDb({ url, poolSize: 1, applicationName: 'dealer-esim setup' })
  try {
    const fault = await findConnectionFault(db)
    if (fault !== undefined) throw refusal(fault)
  } finally {
    await db.close()
  }
}

/** Creates what is missing. Can be repeated after a failure. */
export async function createDatabase(wanted: NewDatabase): Promise<void> {
  const { name } = wanted
  await withServer(wanted.adminUrl, async (db) => {
    const [role] = await db.query({ text: 'select 1 from pg_roles where rolname = $1', values: [name] })
    if (!role) await db.query({ text: `create role "${name}" login password '${scramVerifier(wanted.password)}'` })
    const [database] = await db.query({ text: 'select 1 from pg_database where datname = $1', values: [name] })
    if (database) return
    // An administrator who is not a superuser can create databases only for roles that they are a member of.
    await db.query({ text: `grant "${name}" to current_user` })
    await db.query({ text: `create database "${name}" owner "${name}" encoding UTF8 template template0` })
  })
}

async function withServer(url: string, work: (db: Database) => Promise<void>): Promise<void> {
  const db = createDb({ url, poolSize: 1, applicationName: 'dealer-esim setup' })
  try {
    await work(db)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw refusal(`The PostgreSQL server of --database-admin cannot be used: ${messageOf(error)}.`)
  } finally {
    await db.close()
  }
}

function refusal(message: string): Refusal {
  return new Refusal(409, 'SETUP_DATABASE', message)
}

const ITERATIONS = 4_096

/** The password as PostgreSQL stores it (RFC 5802), so that statement logs do not reveal it. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(hmac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${hmac('Server Key').toString('base64')}`
}
