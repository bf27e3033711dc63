import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { type TestNodes, withDatabaseName, withServerClient } from './database.ts'

/*
 * TEST_CITUS_URL is the URL of a database in which Citus has a coordinator and workers. The run then creates all its
 * databases on that cluster, on every node, and clones them there as on a single server. See docs/scaling.md.
 */

export async function findCitusNodes(url: string): Promise<TestNodes> {
  const { rows } = await withServerClient(url, (client) =>
    client.query<{ host: string; port: number }>(
      'select nodename as host, nodeport as port from pg_dist_node where groupid > 0 order by nodeid',
    ),
  )
  const workers = rows.map(({ host, port }) => {
    const worker = new URL(url)
    worker.host = `${host}:${port}`
    return worker.href
  })
  if (workers.length === 0) throw new Error('TEST_CITUS_URL: the database has no worker nodes of Citus.')
  return { url, workers }
}

/** Makes the databases with the same name on all nodes a separate cluster. */
export async function joinDatabases({ url, workers }: TestNodes, name: string): Promise<void> {
  for (const node of [url, ...workers]) {
    await withServerClient(withDatabaseName(node, name), (client) => client.query('create extension citus'))
  }
  await withServerClient(withDatabaseName(url, name), async (client) => {
    const { hostname, port } = new URL(url)
    await client.query('select citus_set_coordinator_host($1, $2)', [hostname, Number(port)])
    for (const worker of workers) {
      const { hostname, port } = new URL(worker)
      await client.query('select citus_add_node($1, $2)', [hostname, Number(port)])
    }
  })
}

/** The URL of the database on the node that contains the gateway's schema. */
export async function urlOfSchema(url: string): Promise<string> {
  const home = new URL(url)
  home.host = await hostOfSchema(url)
  return home.href
}

/** The host and port of the node that contains the gateway's schema. */
export async function hostOfSchema(url: string): Promise<string> {
  const { rows } = await withServerClient(url, (client) =>
    client.query<{ host: string }>(
      `select distinct nodename || ':' || nodeport as host from citus_shards
       where table_name = to_regclass('${DEFAULT_SCHEMA}.orders')`,
    ),
  )
  if (rows.length !== 1) throw new Error(`The schema is on ${rows.length} nodes, not on one.`)
  return rows[0]!.host
}

/** Ends the sessions that Citus keeps open in databases of that name, so that they can be cloned. */
export async function closeForCloning({ url, workers }: TestNodes, name: string): Promise<void> {
  for (const node of [url, ...workers]) {
    await withServerClient(node, async (client) => {
      await client.query(`alter database ${name} with allow_connections false`)
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    })
  }
}
