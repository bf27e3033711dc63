import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { type MigrateOptions, migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Config } from '../config/config.ts'
import { TWIN_CONNECTIONS } from '../config/connections.ts'
import { migrationsFolder } from '../package-root.ts'

const SUFFIX = '_twins'
const NAME_LENGTH_MAX = 63

/**
 * The schema of the test twins (docs/decisions/0035): `public_twins` beside `public`. It is created with the first twin.
 * @throws Refusal if the name would be longer than PostgreSQL allows
 */
export function twinsSchemaOf(schema: string): string {
  const name = schema + SUFFIX
  if (name.length <= NAME_LENGTH_MAX) return name
  throw new Refusal(
    409,
    'SCHEMA_NAME_TOO_LONG',
    `Test twins need a schema named ${schema}${SUFFIX}, which is longer than PostgreSQL allows (${NAME_LENGTH_MAX} characters). Test twins cannot be used with this DATABASE_SCHEMA.`,
  )
}

/** The configuration of the twins' dependencies. */
export function twinConfigOf<Given extends Config>(config: Given): Given {
  return {
    ...config,
    mode: 'TEST',
    databaseSchema: twinsSchemaOf(config.databaseSchema),
    databasePoolSize: TWIN_CONNECTIONS.general,
  }
}

/** True once a twin was created. @param db any connection to the database */
export async function hasTwinsSchema(db: Pick<Db, 'query'>, schema: string): Promise<boolean> {
  if ((schema + SUFFIX).length > NAME_LENGTH_MAX) return false
  const [row] = await db.query<{ exists: boolean }>({
    name: 'twins-schema',
    text: 'select to_regnamespace($1) is not null as exists',
    values: [twinsSchemaOf(schema)],
  })
  return row!.exists
}

/**
 * Migrates the schema of the live dealers, and that of the test twins if there is one. @returns the names of the files that ran
 * @throws StartRefused as `migrate` does
 */
export async function migrateSchemas(options: Omit<MigrateOptions, 'directory'>): Promise<string[]> {
  const { databaseUrl, schema = DEFAULT_SCHEMA } = options
  const directory = migrationsFolder()
  const ran = await migrate({ ...options, schema, directory })
  const db = createDb({ url: databaseUrl, schema, poolSize: 1, applicationName: 'dealer-esim migrate' })
  try {
    if (!(await hasTwinsSchema(db, schema))) return ran
  } finally {
    await db.close()
  }
  const ranForTwins = await migrate({ ...options, schema: twinsSchemaOf(schema), directory })
  return [...ran, ...ranForTwins.filter((name) => !ran.includes(name))]
}
