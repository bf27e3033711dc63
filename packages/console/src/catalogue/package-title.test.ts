import { describe, expect, it } from 'vitest'
import { packagesTitleText, packageTitle, packageTitleText } from './package-title.ts'

describe('a package title', () => {
  it.each([
    ['Japan 5 GB 3 days', 'Japan · 5 GB · 3 days'],
    ['Japan, 1 GB, 1 day', 'Japan · 1 GB · 1 day'],
    ['South Korea 500 MB 7 days', 'South Korea · 500 MB · 7 days'],
    ['Austria, Germany and Switzerland 1.5 GB 7 days', 'Austria, Germany and Switzerland · 1.5 GB · 7 days'],
    ['Asia-Pacific 2 GB/day', 'Asia-Pacific · 2 GB/day'],
    ['13 countries 2 GB a day day pass', '13 countries · 2 GB/day'],
    ['Japan, day pass, 2 GB a day', 'Japan · 2 GB/day'],
    ['Japan, 2 GB a day, 7 days', 'Japan · 2 GB/day · 7 days'],
    ['Europe Unlimited 30 days', 'Europe · Unlimited · 30 days'],
    ['Japan, unlimited, 7 days', 'Japan · Unlimited · 7 days'],
    ['Japan 1 GB 7 days top-up', 'Japan · 1 GB · 7 days · top-up'],
    ['Japan, 1 GB, 7 days: top-up', 'Japan · 1 GB · 7 days · top-up'],
  ])('for %s is %s', (name, title) => {
    expect(packageTitleText(name)).toBe(title)
    expect(packageTitle(name).hasPlace).toBe(true)
  })

  it.each(['Weekend in Tokyo', 'Sakura 5 GB special', '5 GB 3 days', 'Japan', '', 'Japan 5 GB 3 days with hotel'])(
    'is left unchanged if somebody typed it: %s',
    (name) => {
      expect(packageTitle(name)).toEqual({ parts: [name], hasPlace: false })
    },
  )

  it('counts the further packages in an order with several packages', () => {
    expect(packagesTitleText(['Japan 5 GB 3 days', 'Weekend', 'Other'])).toBe('Japan · 5 GB · 3 days + 2')
  })
})
