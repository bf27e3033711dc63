import pg from 'pg'

/** The clock of a test database, which a test can set. */
export interface SteppableClock {
  /** Sets the clock so many milliseconds ahead of the machine's (or behind, if negative). */
  setOffset(offsetMs: number): Promise<void>
  close(): Promise<void>
}

/**
 * Makes the clock of a database settable: connections opened afterwards find now(), clock_timestamp() and
 * statement_timestamp() in the schema public before PostgreSQL's own. Column defaults keep the machine's clock.
 */
export async function installSteppableClock(url: string): Promise<SteppableClock> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const name = new URL(url).pathname.slice(1)
  const functions = ['now', 'clock_timestamp', 'statement_timestamp'].map(
    (clock) => `create function public.${clock}() returns timestamptz language sql stable
      return pg_catalog.${clock}() + (select ahead from test_clock.step);`,
  )
  await client.query(`
    create schema test_clock;
    create table test_clock.step (ahead interval not null);
    insert into test_clock.step values ('0');
    ${functions.join('\n')}
    alter database ${name} set search_path = public, pg_catalog;`)
  return {
    async setOffset(offsetMs) {
      await client.query(`update test_clock.step set ahead = $1 * interval '1 millisecond'`, [offsetMs])
    },
    close: () => client.end(),
  }
}
