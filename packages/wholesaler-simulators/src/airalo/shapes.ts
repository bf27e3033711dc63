import { digits, either, integer, object, oneOf, optional, text } from '#shape.ts'

/* Airalo's requests. Bodies may be forms, in which numbers are texts. */

export const TOKEN = object({
  client_id: text(),
  client_secret: text(),
  grant_type: oneOf('client_credentials'),
})

const page = { limit: optional(digits({ min: 1, max: 1_000 })), page: optional(digits({ min: 1 })) }

export const PACKAGES = object({
  ...page,
  'filter[type]': optional(oneOf('local', 'global')),
  'filter[country]': optional(text({ max: 2 })),
  include: optional(text()),
})

export const ORDER = object({
  quantity: either(integer({ min: 1, max: 50 }), digits({ min: 1, max: 50 })),
  package_id: text(),
  type: optional(oneOf('sim')),
  description: optional(text({ max: 255 })),
})

export const TOP_UP = object({ package_id: text(), iccid: text(), description: optional(text({ max: 255 })) })

export const ORDERS = object({
  ...page,
  'filter[description]': optional(text()),
  'filter[code]': optional(text()),
  include: optional(text()),
})

export const INCLUDE = object({ include: optional(text()) })
