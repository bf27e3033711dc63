import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settingsOf } from './setup-questions.ts'

test('setup writes the files of the certificate as absolute paths, and nothing that was not given', () => {
  const options = { file: 'environment', databaseName: 'd', host: '::1', tlsCert: 'cert.pem', tlsKey: '/etc/key.pem' }
  expect(settingsOf(options)).toEqual({
    HOST: '::1',
    TLS_CERT_FILE: join(process.cwd(), 'cert.pem'),
    TLS_KEY_FILE: '/etc/key.pem',
  })
})
