import Type, { type Static } from 'typebox'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { CLOSED, cursor, nextCursor, nullable, pageSize } from './scalars.ts'

/** The longest text of a filter. Models are shorter. */
const FILTER_LENGTH_MAX = 64

const filter = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: FILTER_LENGTH_MAX,
    pattern: TEXT_PATTERNS.line.pattern,
    description,
    examples: [example],
  })

export const deviceListRequest = Type.Object(
  {
    brand: Type.Optional(filter('Only devices of this maker, in any case.', 'Google')),
    keyword: Type.Optional(filter('Words that maker and model must have, in any case.', 'pixel 8')),
    pageSize: Type.Optional(pageSize()),
    cursor: Type.Optional(cursor()),
  },
  CLOSED,
)
export type DeviceListRequest = Static<typeof deviceListRequest>

export const deviceListAnswer = Type.Object({
  deviceList: Type.Array(
    Type.Object({
      brand: Type.String({ examples: ['Google'] }),
      model: Type.String({ examples: ['Pixel 8'] }),
      since: nullable(Type.Integer({ description: 'The year in which it came out.', examples: [2023] })),
      note: nullable(Type.String({ description: 'Such as where it is sold without eSIM.' })),
    }),
    { description: 'Never a promise: the same model may be sold without eSIM in some countries.' },
  ),
  nextCursor: nextCursor(),
  asOf: Type.String({ description: 'The day on which the table was compiled.', examples: ['2026-11-29'] }),
})
export type DeviceListAnswer = Static<typeof deviceListAnswer>
