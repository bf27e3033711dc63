import type { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type from 'typebox'
import Value from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { type BrandInput, brandMembers, checkBrand } from './brand-members.ts'

const schema = Type.Object(brandMembers, { additionalProperties: false })
const faultsOf = (input: Partial<BrandInput>) => {
  if (!Value.Check(schema, { name: 'Lotus', ...input })) return 'malformed'
  try {
    return checkBrand({ name: 'Lotus', ...input })
  } catch (error) {
    return Object.keys((error as Refusal).data?.fields ?? {})
  }
}

describe('the settings of a brand', () => {
  it('are kept without spaces around them and without what is not set', () => {
    expect(
      faultsOf({
        name: ' Lotus Travel ',
        accent: '#f5b800',
        supportEmail: 'care@lotus.example',
        supportPhone: '+44 (0)20 7946-0100',
        supportHours: null,
        legalLinks: [{ label: 'Terms', url: 'https://lotus.example/terms' }],
        language: 'zh-Hans',
        texts: { 'steps.wifi': 'Stay on Wi-Fi.\nReally.' },
      }),
    ).toEqual({
      name: 'Lotus Travel',
      accent: '#f5b800',
      supportEmail: 'care@lotus.example',
      supportPhone: '+44 (0)20 7946-0100',
      legalLinks: [{ label: 'Terms', url: 'https://lotus.example/terms' }],
      language: 'zh-Hans',
      texts: { 'steps.wifi': 'Stay on Wi-Fi.\nReally.' },
    })
  })

  it.each([
    ['a colour with a style behind it', { accent: '#f5b800;background:url(x)' }],
    ['a colour by name', { accent: 'red' }],
    ['a name with a line break', { name: 'Lotus\r\nBcc: all@example.com' }],
    ['a name that turns the direction of writing', { name: 'Lotus\u202egnp' }],
    ['hours with a line break', { supportHours: '9–18\n' }],
    ['a phone number with a command', { supportPhone: '+44;ext=1' }],
    ['a text with control characters', { texts: { a: 'x\u0000' } }],
    ['a key of a text with markup', { texts: { '<b>': 'x' } }],
    ['an unknown member', { script: 'x' }],
    ['six links', { legalLinks: Array.from({ length: 6 }, () => ({ label: 'a', url: 'https://a.example' })) }],
  ])('with %s are malformed', (_, input) => {
    expect(faultsOf(input as Partial<BrandInput>)).toBe('malformed')
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'http://lotus.example',
    'https://bank.example@evil.example/',
    'https://lotus.example/"onclick="x',
    '//evil.example',
    'terms',
  ])('with the link %s are refused', (url) => {
    expect(faultsOf({ legalLinks: [{ label: 'Terms', url }] })).toEqual(['legalLinks.0.url'])
    expect(faultsOf({ topUpUrl: url })).toEqual(['topUpUrl'])
  })

  it.each(['a@b.example, c@d.example', 'Lotus <a@b.example>', 'a b@c.example', 'group:a@b.example;', 'none'])(
    'with the address %s are refused',
    (address) => {
      expect(faultsOf({ supportEmail: address, replyTo: address })).toEqual(['supportEmail', 'replyTo'])
    },
  )

  it('with an unknown language, or a name of spaces, are refused', () => {
    expect(faultsOf({ name: '  ', language: 'x' })).toEqual(['name', 'language'])
  })
})
