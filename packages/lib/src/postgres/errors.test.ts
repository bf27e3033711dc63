import pg from 'pg'
import { expect, it } from 'vitest'
import { explainNoConnection } from './errors.ts'

function refusal(code: string, message: string, detail?: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code, detail })
}

it.each([
  [
    'who may not connect',
    refusal('42501', 'permission denied for database "esim"', 'User does not have CONNECT privilege.'),
    'Grant the user of DATABASE_URL the right to connect: grant connect on database NAME to USER.',
  ],
  [
    'who does not own the tables on Citus',
    refusal('42501', 'must be owner of table alerts'),
    'Use the owner of the tables in DATABASE_URL, or give them to its user: reassign owned by OLD_OWNER to USER.',
  ],
  [
    'who may not use the schema of the views on Citus',
    refusal('42501', 'permission denied for schema esim_shards_0123456789abcdef'),
    'Use the owner of the tables in DATABASE_URL, or give them to its user: reassign owned by OLD_OWNER to USER.',
  ],
  [
    'who may not create the schema of the views on Citus',
    refusal('42501', 'permission denied for database esim'),
    'Grant the user of DATABASE_URL the right to create schemas: grant create on database NAME to USER.',
  ],
  [
    'who lacks another right',
    refusal('42501', 'permission denied to set parameter "log_statement"'),
    "See the server's log.",
  ],
  [
    'whose password is wrong',
    refusal('28P01', 'password authentication failed for user "esim"'),
    'Correct the user and password in DATABASE_URL, or allow this user in pg_hba.conf.',
  ],
])('the message for a user %s says what to do', (_, error, remedy) => {
  expect(explainNoConnection(error)).toBe(`Cannot connect to the database: ${error.message}. ${remedy}`)
})

it('the message about a server that was not reached says to check host and port', () => {
  const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  expect(explainNoConnection(error)).toMatch(/Check the host and port/)
})
