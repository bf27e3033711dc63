import { object, oneOf, optional, text } from '#shape.ts'

/* Requests of MobiMatter. */

export const PRODUCTS = object({
  category: optional(text()),
  productCategory: optional(text()),
  productFamilyId: optional(text()),
  country: optional(text()),
  region: optional(text()),
  providerId: optional(text()),
})

export const CREATE = object({
  productId: text(),
  productCategory: oneOf('esim_realtime', 'esim_addon'),
  addOnOrderIdentifier: optional(text()),
  label: optional(text({ max: 250 })),
})

export const COMPLETE = object({ orderId: text(), notes: optional(text()) })

export const CANCEL = object({ orderId: text(), reason: text() })
