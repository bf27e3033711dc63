import { digits, integer, list, object, oneOf, optional, text } from '#shape.ts'

/* Requests of eSIM Go. */

const anything = { check: () => undefined, isOptional: true as const }

export const CATALOGUE = object({
  page: optional(digits({ min: 1 })),
  perPage: optional(digits({ min: 1, max: 1_000 })),
  countries: optional(text()),
  region: optional(text()),
})

export const ORDER = object({
  type: oneOf('transaction', 'validate'),
  assign: oneOf(true),
  order: list(
    object({
      type: oneOf('bundle'),
      quantity: integer({ min: 1, max: 100 }),
      item: text(),
      iccids: optional(list(text({ pattern: /^\d{18,20}$/ }), { max: 100 })),
      allowReassign: optional(oneOf(true, false)),
    }),
    { max: 1 },
  ),
})

export const ORDERS = object({
  createdAt: optional(text({ pattern: /^(gte|gt|lte|lt):/ })),
  includeIccids: anything,
  page: optional(digits({ min: 1 })),
  limit: optional(digits({ min: 1, max: 1_000 })),
})

export const ONE_ORDER = object({ includeIccids: anything })

export const REVOKE = object({ type: oneOf('transaction', 'validate'), refundToBalance: oneOf('true', 'false') })

export const SMS = object({ message: text({ max: 160 }), from: optional(oneOf('eSIM')) })

/** Used bundles are listed in either case. */
export const BUNDLES = object({ includeUsed: optional(oneOf('true', 'false')) })
