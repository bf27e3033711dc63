import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import type { Context } from './context.ts'
import zhHans from './help.zh-Hans.json' with { type: 'json' }
import type { Io } from './io.ts'
import { commandLine, run } from './program.ts'
import { helpLanguage, helpTexts, translation } from './translate-help.ts'

function ioOf(env: Io['env']) {
  const printed: string[] = []
  const out = (text: string) => void printed.push(text)
  const stdin = async () => Buffer.alloc(0)
  const io: Io = { out, err: out, stdin, env, cwd: '/', colour: false, interrupted: new AbortController().signal }
  return { io, text: () => printed.join('') }
}

const program = commandLine(ioOf({}).io, () => ({}) as Context)
const names = (command: Command): string[][] => [
  [],
  ...command.commands.flatMap((each) => names(each).map((below) => [each.name(), ...below])),
]
const help = async (argv: readonly string[], env: Io['env']) => {
  const { io, text } = ioOf(env)
  await run([...argv, '--help'], io)
  return text()
}

describe('the help in Chinese', () => {
  it('has every text, and no other', () => {
    const texts = helpTexts(program)
    expect(texts.length).toBeGreaterThan(170)
    expect(texts.filter((text) => translation(zhHans, text) === undefined)).toEqual([])
    const unused = Object.keys(zhHans).filter((key) => !key.includes('{names}') && !texts.includes(key))
    expect(unused).toEqual([])
  })

  it.each(names(program).map((argv) => [argv.join(' '), argv] as const))(
    'of “%s” has no English left',
    async (_, argv) => {
      const [chinese, english] = await Promise.all([help(argv, { LANG: 'zh_CN.UTF-8' }), help(argv, { LANG: 'C' })])
      expect(chinese).toMatch(/^用法: dealer-esim/)
      expect(english).toMatch(/^Usage: dealer-esim/)
      const words = chinese.replaceAll(/^用法: .*$|^ *\$ .*$|^ *\{.*$|[“`"][^”`"]*[”`"]/gm, '')
      expect(words).not.toMatch(/\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/)
    },
  )

  it('names the same commands, options and defaults', async () => {
    const [chinese, english] = await Promise.all([help(['listen'], { LANG: 'zh' }), help(['listen'], {})])
    const options = (text: string) => text.match(/--[a-z-]+/g)
    expect(options(chinese)).toEqual(options(english))
    expect(chinese).toContain('(默认值: 4545)')
  })
})

describe('the language of the help', () => {
  it.each([
    [{ LANG: 'zh_CN.UTF-8' }, true],
    [{ LANG: 'zh_SG.utf8' }, true],
    [{ LANG: 'zh' }, true],
    [{ LANG: 'zh_TW.UTF-8' }, false],
    [{ LANG: 'zh_CN.GB18030' }, false],
    [{ LANG: 'zh_CN.UTF-8', LC_ALL: 'C.UTF-8' }, false],
    [{ LANG: 'en_GB.UTF-8', LC_MESSAGES: 'zh_CN.UTF-8' }, true],
    [{ LANG: 'en_GB.UTF-8', DEALER_ESIM_LANG: 'zh-Hans' }, true],
    [{ LANG: 'zh_CN.UTF-8', DEALER_ESIM_LANG: 'en' }, false],
    [{}, false],
  ])('%o: Chinese is %s', (env, isChinese) => expect(helpLanguage(env) !== undefined).toBe(isChinese))

  it('changes no output for programs', async () => {
    const key = {
      DEALER_ESIM_BASE_URL: 'https://a.example',
      DEALER_ESIM_APP_KEY: 'ak',
      DEALER_ESIM_APP_SECRET: 'secret',
    }
    const signed = ['sign', 'health', '--timestamp', '1', '--request-id', '06e1', '--json']
    const printed = async (env: Io['env']) => {
      const { io, text } = ioOf({ ...key, ...env })
      return { code: await run(signed, io), document: JSON.parse(text()) }
    }
    const chinese = await printed({ LANG: 'zh_CN.UTF-8' })
    expect(chinese).toMatchObject({ code: 0, document: { stringToSign: '106e1ak{}' } })
    expect(chinese).toEqual(await printed({}))
  })
})
