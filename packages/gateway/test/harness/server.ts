import pg from 'pg'

/** Statements to the test server itself, each on a connection of its own. */
async function onServer<Result>(serverUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function createDatabase(serverUrl: string, name: string, template = 'template0'): Promise<void> {
  await onServer(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
}

/** Ends the sessions that are still connected to it. */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}

/** Clones that a test file forgot, or whose worker died, go with the run. */
export async function dropDatabasesOf(serverUrl: string, run: string): Promise<void> {
  const names = await onServer(serverUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database where datname like $1', [
      `${run}\\_%`,
    ])
    return rows.map((row) => row.datname)
  })
  for (const name of names) await dropDatabase(serverUrl, name)
}

export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
