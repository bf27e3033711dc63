import pg from 'pg'
import { expect, it } from 'vitest'
import { explainNoConnection, isNoConnection } from './errors.ts'

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
])('the message for a user %s says how to fix the problem', (_, error, remedy) => {
  expect(explainNoConnection(error)).toBe(`Cannot connect to the database: ${error.message}. ${remedy}`)
})

it('the message about an unreachable server says to check host and port', () => {
  const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  expect(explainNoConnection(error)).toMatch(/Check the host and port/)
})

const NO_TLS = new Error('The server does not support SSL connections')
const UNTRUSTED = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
const PLAIN = refusal('28000', 'no pg_hba.conf entry for host "10.0.0.7", user "esim", database "esim", no encryption')

it.each([
  [NO_TLS, { PGSSLMODE: 'require' }, 'The environment has PGSSLMODE=require: unset it, or add the sslmode'],
  [UNTRUSTED, { PGSSLMODE: 'verify-ca' }, 'The environment has PGSSLMODE=verify-ca: unset it'],
  [PLAIN, { PGSSLMODE: 'disable' }, 'The environment has PGSSLMODE=disable: unset it'],
  [
    NO_TLS,
    { PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct' },
    'The environment has PGSSLMODE=require and PGSSLNEGOTIATION=direct: unset them',
  ],
  [NO_TLS, {}, 'Remove sslmode from DATABASE_URL, or turn on TLS on the server.'],
  [
    UNTRUSTED,
    {},
    'Specify the certificate authority of the server in DATABASE_URL: ?sslmode=verify-full&sslrootcert=FILE',
  ],
  [PLAIN, {}, 'Add ?sslmode=verify-full to DATABASE_URL'],
])('the message about a TLS failure states its cause: %s, %o', (error, env, remedy) => {
  expect(isNoConnection(error)).toBe(true)
  expect(explainNoConnection(error, env)).toContain(`${error.message}. ${remedy}`)
})

it('the message about a refused connection does not mention PGSSLMODE', () => {
  expect(explainNoConnection(new Error('connect ECONNREFUSED'), { PGSSLMODE: 'require' })).not.toContain('PGSSLMODE')
})
