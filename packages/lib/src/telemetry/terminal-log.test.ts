import { expect, it } from 'vitest'
import { createLog } from './json-log.ts'
import { terminalDestination } from './terminal-log.ts'

function written(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = ''
  write(createLog('info', terminalDestination({ write: (part) => (text += part) })))
  return text
}

it('a log line on a terminal is plain text with time, level, message and members', () => {
  const text = written((log) => log.info({ baseUrl: 'http://127.0.0.1:8080', port: 8080, text: 'two words' }, 'ready'))
  expect(text).toMatch(
    /^\d\d:\d\d:\d\d info {2}ready {2}baseUrl=http:\/\/127\.0\.0\.1:8080 port=8080 text="two words"\n$/,
  )
})

it('a line without members ends with its message', () => {
  expect(written((log) => log.warn('stopping'))).toMatch(/^\d\d:\d\d:\d\d warn {2}stopping\n$/)
})

it('an error’s stack and cause are printed below the line', () => {
  const error = new Error('no connection', { cause: new TypeError('refused') })
  const [first, second, ...more] = written((log) => log.error({ err: error }, 'failed')).split('\n')
  expect(first).toMatch(/ error failed$/)
  expect(second).toBe('    Error: no connection')
  expect(more).toContain('    because of')
  expect(more).toContain('    TypeError: refused')
})

it('secrets are also redacted on a terminal', () => {
  expect(written((log) => log.info({ request: { appSecret: 'hush' } }, 'x'))).toContain('[redacted]')
})

it('text sent by a caller cannot control the terminal', () => {
  const text = written((log) => log.info({ agent: '\u001b[2J cleared', 'x\u009b': 'y' }, 'bell\u0007'))
  expect(text.trimEnd()).not.toMatch(/\p{Cc}/u)
  expect(text).toContain('bell\\x07')
})
