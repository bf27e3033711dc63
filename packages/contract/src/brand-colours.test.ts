import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BRAND_SURFACES,
  brandColours,
  CONSOLE_SURFACES,
  contrastOf,
  readableOn,
  SHAPE_CONTRAST_MIN,
  TEXT_CONTRAST_MIN,
} from './brand-colours.ts'

describe('the colours of a brand', () => {
  it.each([
    ['#b8336a', '#ffffff', ['#b8336a', '#b8336a', '#fbedf1'], ['#e96193', '#bb366d', '#33252d']],
    ['#f5b800', '#000000', ['#8f6a00', '#b38600', '#fef9ee'], ['#f5b800', '#f5b800', '#393529']],
    ['#14655a', '#ffffff', ['#14655a', '#14655a', '#eaf0ef'], ['#529b8e', '#2b766b', '#1d292a']],
    ['#0a1f44', '#ffffff', ['#0a1f44', '#0a1f44', '#e6e9ed'], ['#6e89b6', '#526b96', '#191f28']],
    ['#e4002b', '#ffffff', ['#da0029', '#e4002b', '#ffedec'], ['#ff5b5b', '#e4002b', '#3a2526']],
    ['#ffffff', '#000000', ['#6f6f6f', '#8c8c8c', '#ffffff'], ['#ffffff', '#ffffff', '#3a3d40']],
    ['#000000', '#ffffff', ['#000000', '#000000', '#e1e1e1'], ['#868686', '#696969', '#131619']],
  ])('are computed from the accent %s', (accent, onAccent, light, dark) => {
    const colours = brandColours(accent)
    expect([colours.accent, colours.onAccent]).toEqual([accent, onAccent])
    expect(Object.values(colours.light)).toEqual(light)
    expect(Object.values(colours.dark)).toEqual(dark)
  })

  it.each([
    ['mails and pages', BRAND_SURFACES],
    ['the console', CONSOLE_SURFACES],
  ])('are readable for any accent in %s', (_, surfaces) => {
    const accent = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)
    fc.assert(
      fc.property(accent, (chosen) => {
        const { onAccent, ...schemes } = brandColours(chosen, surfaces)
        expect(contrastOf(onAccent, chosen)).toBeGreaterThanOrEqual(TEXT_CONTRAST_MIN)
        for (const scheme of ['light', 'dark'] as const) {
          const { text, edge, tint } = schemes[scheme]
          for (const surface of [...surfaces[scheme], tint])
            expect(contrastOf(text, surface)).toBeGreaterThanOrEqual(TEXT_CONTRAST_MIN)
          for (const surface of surfaces[scheme])
            expect(contrastOf(edge, surface)).toBeGreaterThanOrEqual(SHAPE_CONTRAST_MIN)
          expect(contrastOf(readableOn(edge), edge)).toBeGreaterThanOrEqual(TEXT_CONTRAST_MIN)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})
