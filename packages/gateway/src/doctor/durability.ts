import type { Finding, Findings, OpenPatient } from './finding.ts'

/** Checks that an answered order survives a crash, and the loss, of the database's machine. */
export async function checkDurability({ db, config }: OpenPatient, say: Findings): Promise<Finding[]> {
  const rows = await db.query<{ name: string; setting: string }>({ text: SETTINGS })
  const is = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  // On a developer's machine, and with test eSIMs, nobody loses money.
  const serious = config.deployment === 'production' ? say.fault : say.warning
  const found: Finding[] = []
  for (const name of ['fsync', 'full_page_writes']) {
    if (is[name] === 'on') continue
    found.push(serious(`${name} is off: a power cut can destroy the database. Set it to on in postgresql.conf.`))
  }
  if (is.synchronous_commit === 'off' || (is.synchronous_commit === 'local' && is.synchronous_standby_names !== '')) {
    const words = `synchronous_commit is ${is.synchronous_commit}: a crash can lose orders that were answered.`
    found.push(serious(`${words} Set it to on for this database; the gateway turns it off by itself where it may.`))
  }
  if (is.synchronous_standby_names === '' && config.deployment === 'production') {
    found.push(
      say.warning(
        'synchronous_standby_names is empty: when this server is lost, so are the orders since the last backup or the standby’s last word. Set up a synchronous standby.',
      ),
    )
  }
  return found.length > 0 ? found : [say.ok('What was committed survives a crash of the database.')]
}

const SETTINGS = `
  select name, setting from pg_settings
  where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')`
