import type { Mail } from '@dealer-esim/lib/outbound/smtp.ts'
import { type Brand, brandFor, UNNAMED_OPERATOR } from '#brands/brand.ts'
import type { BrandSource } from '#brands/brand-source.ts'
import { findPictureAt } from '#brands/list-brands.ts'
import { composeInBrand, type MailText } from './mail-template.ts'
import { composeTravellerMail, QR } from './traveller-mail.ts'

/** Whose e-mail it is: the operator's to people, or to a traveller the dealer's under one of its brands. */
export interface MailOwner {
  /** null: the operator's. */
  tenantId: string | null
  /** null: the dealer's default one. */
  brand: string | null
}

const LOGO = 'logo'

/**
 * Gives an e-mail the sender's name, the address for replies, and, if it was composed from parts, the look of its brand.
 * @param mailFrom MAIL_FROM, whose address stays: the mail server may send in its name only
 */
export async function inBrand(
  deps: BrandSource,
  mailFrom: string,
  owner: MailOwner,
  { subject, text, html, parts, traveller }: MailText,
): Promise<Pick<Mail, 'from' | 'replyTo' | 'subject' | 'text' | 'html' | 'inline'>> {
  const brand = await brandFor(
    { db: deps.db, liveBrands: deps.liveBrands, links: { publicUrl: '' } },
    owner.tenantId,
    owner.brand,
  )
  const sender = senderOf(mailFrom, brand)
  if (traveller === undefined && (parts === undefined || !isNamed(brand))) return { ...sender, subject, text, html }
  const logo = await findPictureAt(deps, brand.icon ?? brand.logoLight)
  const content = traveller
    ? composeTravellerMail(traveller, brand, logo && LOGO)
    : composeInBrand(parts!, brand, logo && LOGO)
  const qr = traveller?.scan && Buffer.from(traveller.scan.qrPng, 'base64')
  const pictures = [
    ...(logo ? [{ cid: LOGO, content: logo, contentType: PNG }] : []),
    ...(qr ? [{ cid: QR, content: qr, contentType: PNG }] : []),
  ]
  const inline = pictures.length > 0 && { inline: pictures }
  return { ...sender, subject: content.subject, text: content.text, html: content.html, ...inline }
}

const PNG = 'image/png'

function senderOf(mailFrom: string, brand: Brand): Pick<Mail, 'from' | 'replyTo'> {
  const address = /<([^<>]+)>\s*$/.exec(mailFrom)?.[1] ?? mailFrom
  const name = brand.senderName ?? (isNamed(brand) ? brand.name : undefined)
  const replyTo = brand.replyTo ?? brand.supportEmail
  return { from: name === undefined ? mailFrom : { name, address }, ...(replyTo !== undefined && { replyTo }) }
}

/** False before the operator has set its brand. */
function isNamed({ isOperator, name }: Brand): boolean {
  return !isOperator || name !== UNNAMED_OPERATOR
}
