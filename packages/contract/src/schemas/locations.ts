import Type, { type Static } from 'typebox'
import { LANGUAGE_LENGTH_MAX } from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { CLOSED } from './scalars.ts'

export const LOCATION_TYPES = ['COUNTRY', 'REGION', 'GLOBAL'] as const
export type LocationType = (typeof LOCATION_TYPES)[number]

export const locationListRequest = Type.Object(
  {
    language: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LANGUAGE_LENGTH_MAX,
        pattern: TEXT_PATTERNS.language.pattern,
        description: 'The language of the names (BCP 47). English without it, and for a language that is not known.',
        examples: ['de', 'zh-Hans'],
      }),
    ),
  },
  CLOSED,
)
export type LocationListRequest = Static<typeof locationListRequest>

export const location = Type.Object({
  locationCode: Type.String({ examples: ['JP'] }),
  name: Type.String({ examples: ['Japan'] }),
  type: Type.Enum(LOCATION_TYPES),
  subLocationCodes: Type.Array(Type.String(), {
    description: 'The countries that regional or global packages cover together. Empty for a country.',
  }),
})
export type Location = Static<typeof location>

export const locationListAnswer = Type.Object({ locationList: Type.Array(location) })
export type LocationListAnswer = Static<typeof locationListAnswer>
