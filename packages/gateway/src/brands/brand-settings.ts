import { DEFAULT_ACCENT } from '@dealer-esim/contract'

/** What a person sets of a brand, as it is stored. An absent member is not set. */
export interface BrandSettings {
  /** As travellers know the seller, such as `Lotus Travel`. Of the operator's brand: the contact's name. */
  name?: string
  /** Hashes of pictures in brand_pictures. */
  logoLight?: string
  logoDark?: string
  icon?: string
  /** `#rrggbb`, in lower case. */
  accent?: string
  supportEmail?: string
  supportPhone?: string
  /** When somebody answers, such as `Mon–Fri 9–18 in Berlin`. */
  supportHours?: string
  legalLinks?: LegalLink[]
  /** Where a traveller buys more data. */
  topUpUrl?: string
  /** The language of mails and pages where nobody has chosen one (BCP 47). */
  language?: string
  /** The sender's name in mails; absent: the brand's name. */
  senderName?: string
  /** Absent: the support address. */
  replyTo?: string
  /** Texts of travellers' pages that the dealer has replaced, by their key. */
  texts?: Record<string, string>
}

/** A link in the footer, such as terms or privacy. */
export interface LegalLink {
  label: string
  /** https only. */
  url: string
}

export const PICTURE_SLOTS = ['logoLight', 'logoDark', 'icon'] as const
export type PictureSlot = (typeof PICTURE_SLOTS)[number]

export function accentOf({ accent }: Pick<BrandSettings, 'accent'>): string {
  return accent ?? DEFAULT_ACCENT
}
