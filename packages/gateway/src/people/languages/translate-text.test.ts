import Type from 'typebox'
import { describe, expect, it } from 'vitest'
import { languageOf, peopleLanguage } from './people-language.ts'
import { form, translateAnswer } from './translate-answer.ts'
import { createTranslate } from './translate-text.ts'

/** Linear time takes milliseconds. */
const CPU_MAX_MS = 1_000

describe('a text is translated', () => {
  const translate = createTranslate({
    'Your balance is low.': '余额不足。',
    'Top it up.': '请充值。',
    'The plan {planName} has no such rule.': '方案 {planName} 没有此规则。',
    'From {from} to {to}.': '到 {to}，从 {from}。',
    'There is no {what} {name}.': '没有{what} {name}。',
    'The health check failed: {message}.{response}': '健康检查失败：{message}。{response}',
    'price plan': '价格方案',
    'no answer within {seconds} s': '{seconds} 秒内没有应答',
    'The format is wrong: {faults}.': '格式错误：{faults}。',
    'is missing': '缺失',
  })

  it.each([
    ['Your balance is low.', '余额不足。'],
    ['The plan Gold {1} has no such rule.', '方案 Gold {1} 没有此规则。'],
    ['From a to b to c.', '到 b to c，从 a。'],
    ['There is no price plan Gold.', '没有价格方案 Gold。'],
    ['The health check failed: no answer within 5 s.', '健康检查失败：5 秒内没有应答。'],
    ['The format is wrong: is missing; is odd.', '格式错误：缺失; is odd.'.replace(/\.$/, '。')],
    ['Your balance is low. Top it up.', '余额不足。请充值。'],
    ['The plan A has no such rule. Top it up.', '方案 A 没有此规则。请充值。'],
    ['Your balance is low. Somebody typed this.', '余额不足。Somebody typed this.'],
  ])('with its values: %s', (english, chinese) => expect(translate(english)).toBe(chinese))

  it.each(['', 'Somebody typed this.', 'The plan', ' has no such rule.', 'The plan was no such rule.'])(
    'only if it is known: “%s” stays',
    (text) => expect(translate(text)).toBe(text),
  )

  it('in linear time, also if a stranger wrote it', () => {
    const worst = `The plan ${'The health check failed: From a to '.repeat(3_000)}`
    const before = process.cpuUsage()
    for (const text of [worst, worst.slice(0, 4_000), 'From '.repeat(799), ' to '.repeat(999)]) translate(text)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(CPU_MAX_MS)
  })
})

it('a form is translated by its titles and descriptions, whatever its members are called', () => {
  const translate = createTranslate({ Address: '地址', 'Without a path.': '不含路径。' })
  const member = { type: 'string', title: 'Address', description: 'Without a path.', default: 'Address' }
  const answer = { types: [{ type: 'Address', config: { type: 'object', properties: { title: member } } }] }
  const schema = Type.Object({ types: Type.Array(Type.Object({ type: Type.String(), config: form('A form') })) })
  const translated = { ...member, title: '地址', description: '不含路径。' }
  expect(translateAnswer(schema, answer, translate)).toEqual({
    types: [{ type: 'Address', config: { type: 'object', properties: { title: translated } } }],
  })
})

describe('the Chinese of the gateway', () => {
  const { translate } = peopleLanguage('zh-Hans')
  it.each([
    ['There is no price plan Gold.', '没有价格方案 Gold。'],
    ['This top-up request has already been confirmed. Nothing was changed.', '此充值申请已被确认。未做任何更改。'],
    ['The balance would be -3.00, but it must stay within ±9,000.00.', '余额将为 -3.00，但必须保持在 ±9,000.00 之内。'],
    ['Your top-up was credited: 100.00 USD, reference INV-1.', '您的充值已入账：100.00 USD，编号 INV-1。'],
    ['Lotus asks about order #12: Please cancel. Thank you.', 'Lotus 咨询订单 #12：Please cancel. Thank you.'],
  ])('composes “%s” again with its values', (english, chinese) => expect(translate(english)).toBe(chinese))
})

describe('the language of a person', () => {
  it.each([
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-Hans'],
    ['en-GB,zh;q=0.5', 'en'],
    ['zh-TW', 'en'],
    ['fr', 'en'],
    [undefined, 'en'],
  ])('that accepts %s is %s', (header, tag) =>
    expect(languageOf({ headers: { 'accept-language': header } }).tag).toBe(tag),
  )

  it('is the one that was chosen, else English', () => {
    expect([peopleLanguage('zh-Hans'), peopleLanguage(null), peopleLanguage('x')].map(({ tag }) => tag)).toEqual([
      ...['zh-Hans', 'en', 'en'],
    ])
  })
})
