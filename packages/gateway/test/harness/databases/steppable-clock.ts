import pg from 'pg'
import { ONLY_HERE } from './tables.ts'

/** The clock of a test database, which a test can set. */
export interface SteppableClock {
  /** Sets the clock this many milliseconds ahead of the machine's (or behind it, if negative). */
  setOffset(offsetMs: number): Promise<void>
  close(): Promise<void>
}

/**
 * Makes the clock of a database settable: replaces PostgreSQL's own now(), clock_timestamp() and statement_timestamp(),
 * because the gateway's connections search no other schema first. Needs a superuser. Column defaults keep the machine's
 * clock.
 */
export async function installSteppableClock(url: string): Promise<SteppableClock> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const functions = ['now', 'clock_timestamp', 'statement_timestamp'].map(
    (clock) => `alter function pg_catalog.${clock}() rename to machine_${clock};
      create function pg_catalog.${clock}() returns timestamptz language sql stable
      return pg_catalog.machine_${clock}() + (select ahead from test_clock.step);`,
  )
  await client.query(`
    ${ONLY_HERE};
    create schema test_clock;
    create table test_clock.step (ahead interval not null);
    insert into test_clock.step values ('0');
    ${functions.join('\n')}`)
  return {
    async setOffset(offsetMs) {
      await client.query(`update test_clock.step set ahead = $1 * interval '1 millisecond'`, [offsetMs])
    },
    close: () => client.end(),
  }
}
