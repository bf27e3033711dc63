import { digits, object, optional, text } from '#shape.ts'

/* Requests of Zendit. */

const page = { _limit: digits({ min: 1, max: 1_024 }), _offset: digits() }

export const OFFERS = object({
  ...page,
  brand: optional(text()),
  country: optional(text()),
  regions: optional(text()),
  subType: optional(text()),
})

export const PURCHASE = object({
  transactionId: text({ max: 100 }),
  offerId: text(),
  iccid: optional(text({ pattern: /^\d{18,20}$/ })),
})

export const PURCHASES = object({ ...page, createdAt: optional(text()), status: optional(text()) })

export const NOTHING = object({})
