import type { NamedBrandView } from '@dealer-esim/gateway/http/console/brands/brands.ts'

export type BrandSettings = NamedBrandView['settings']
export const SLOTS = ['logoLight', 'logoDark', 'icon'] as const
export type Slot = (typeof SLOTS)[number]

/** As the preview shows a brand: what is typed, or what is saved. */
export interface BrandDraft {
  name: string
  accent: string
  supportEmail: string
  supportPhone: string
  senderName: string
  /** Addresses of pictures: ours, or data of chosen files. */
  pictures: Partial<Record<Slot, string>>
}

/** The links of a form as a request has them; pairs without an address are left out. */
export function linksOf(fields: Record<string, string>): { label: string; url: string }[] {
  const numbers = Object.keys(fields).flatMap((name) => /^link-url-(\d+)$/.exec(name)?.[1] ?? [])
  return numbers.map((number) => ({
    label: fields[`link-label-${number}`] ?? '',
    url: fields[`link-url-${number}`] ?? '',
  }))
}

/** The members of a form that are texts; what is empty is not set. */
export function settingsOf(fields: Record<string, string>): Record<string, unknown> {
  const texts = ['supportEmail', 'supportPhone', 'supportHours', 'topUpUrl', 'language', 'senderName', 'replyTo']
  return {
    name: fields.name ?? '',
    accent: fields.accent?.toLowerCase() ?? null,
    ...Object.fromEntries(texts.map((name) => [name, fields[name] ?? null])),
    legalLinks: linksOf(fields),
  }
}

export function isAccent(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text)
}
