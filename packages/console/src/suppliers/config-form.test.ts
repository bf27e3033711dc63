import { describe, expect, it } from 'vitest'
import { type ConfigSchema, configOf, defaultOf, fieldsOf, inputName, typedValue } from './config-form.ts'

const SCHEMA: ConfigSchema = {
  type: 'object',
  required: ['url', 'apiKey'],
  properties: {
    url: { type: 'string', title: 'Address' },
    apiKey: { type: 'string', title: 'API key', writeOnly: true },
    key: { type: 'string', contentMediaType: 'application/x-pem-file', writeOnly: true },
    perSecond: { type: 'integer', default: 8, advanced: true },
    releases: { type: 'boolean', default: true },
    senders: { type: 'array', items: { type: 'string' } },
    range: {
      type: 'object',
      title: 'Range',
      required: ['first'],
      properties: { first: { type: 'string', title: 'First' }, last: { type: 'string', title: 'Last' } },
    },
  },
}
const fields = fieldsOf(SCHEMA)
/** The configuration that the form yields for these texts, by member. */
const typedConfig = (typed: Record<string, string>) =>
  configOf(fields, Object.fromEntries(Object.entries(typed).map(([name, text]) => [inputName({ name }), text])))

describe('fieldsOf', () => {
  it('creates one field of the right kind per member', () => {
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ['url', 'text'],
      ['apiKey', 'secret'],
      ['key', 'pem'],
      ['perSecond', 'number'],
      ['releases', 'boolean'],
      ['senders', 'lines'],
      ['range.first', 'text'],
      ['range.last', 'text'],
    ])
  })

  it('makes all members of an optional object optional, and prefixes their names with the object’s name', () => {
    expect(fields.find(({ name }) => name === 'range.first')).toMatchObject({
      label: 'Range: First',
      isRequired: false,
    })
    expect(fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual(['url', 'apiKey'])
  })
})

describe('defaultOf', () => {
  it('returns the value that an empty field stands for, except for a check box', () => {
    const defaults = fields.map((field) => [field.name, defaultOf(field)] as const)
    expect(defaults.filter(([, initial]) => initial !== undefined)).toEqual([['perSecond', '8']])
  })
})

describe('configOf', () => {
  it('leaves out values that are empty or equal to the default', () => {
    expect(typedConfig({ url: ' https://supplier.test ', releases: 'on' })).toEqual({ url: 'https://supplier.test' })
  })

  it('reads numbers, lines, booleans and object members', () => {
    const typed = { perSecond: '8', senders: '192.0.2.1\n198.51.100.0/24', 'range.first': '1', 'range.last': '2' }
    expect(typedConfig(typed)).toEqual({
      perSecond: 8,
      releases: false,
      senders: ['192.0.2.1', '198.51.100.0/24'],
      range: { first: '1', last: '2' },
    })
  })

  it('sends a malformed number as typed, so that the gateway can report it', () => {
    expect(typedConfig({ perSecond: 'eight', releases: 'on' })).toEqual({ perSecond: 'eight' })
  })

  it('rebuilds a stored configuration from its form', () => {
    const config = {
      url: 'https://supplier.test',
      perSecond: 8,
      releases: false,
      senders: ['a', 'b'],
      range: { first: '1' },
    }
    const typed = Object.fromEntries(fields.map((field) => [field.name, typedValue(field, config)]))
    expect(typedConfig(typed)).toEqual(config)
  })
})
