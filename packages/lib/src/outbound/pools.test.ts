import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { isCertificateRefusal, noteRefusals } from './pools.ts'

/** A connection that receives these bytes, then fails with an error of this code. */
async function failWith(code: string, received = ''): Promise<Error> {
  const connection = new PassThrough()
  noteRefusals(connection)
  connection.on('error', () => {})
  if (received !== '') connection.write(received)
  await setImmediate()
  const error = Object.assign(new Error('an alert'), { code })
  connection.emit('error', error)
  return error
}

it.each([
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED',
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN',
])('%s counts as a refusal of our certificate, but not once an answer has begun', async (code) => {
  expect(isCertificateRefusal(await failWith(code))).toBe(true)
  expect(isCertificateRefusal(await failWith(code, 'H'))).toBe(false)
})

it.each(['ECONNRESET', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ERR_SSL_TLSV1_ALERT_ACCESS_DENIED', ''])(
  'a different failure (%s) does not count as a refused certificate',
  async (code) => {
    expect(isCertificateRefusal(await failWith(code))).toBe(false)
  },
)
