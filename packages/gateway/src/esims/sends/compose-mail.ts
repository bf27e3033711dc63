import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { MailText } from '#alerts/mail/mail-template.ts'
import { greetedName } from '#alerts/mail/mail-texts.ts'
import { composeTravellerMail, type TravellerMail } from '#alerts/mail/traveller-mail.ts'
import { type BrandDeps, brandFor } from '#brands/brand.ts'
import type { Traveller } from '#orders/traveller.ts'
import { chooseLanguage } from '../languages/choose-language.ts'
import { formatMoment, timeZoneOf } from '../languages/formats.ts'
import { getLanguages, type Language, textOf, withTexts } from '../languages/traveller-language.ts'
import { countriesOf, joinParts, packageTitle, titleText } from '../languages/traveller-title.ts'
import { qrPng } from '../qr/qr-picture.ts'
import { getTravellerEsim, type InstallCodes, type TravellerEsim } from '../qr/traveller-esim.ts'

/**
 * The e-mail that hands an eSIM to its traveller: what it is, what to do, until when. In the language that was asked for, else
 * the brand's, else English. Users cannot change its text, so that nobody can write to strangers in the operator's name.
 *
 * @param about.brand that was asked for; null: the dealer's default one
 */
export async function composeMail(
  tx: Tx,
  deps: { cipher: Pick<Cipher, 'decrypt'> } & Pick<BrandDeps, 'links' | 'liveBrands'>,
  about: { tenantId: string; profileId: string; brand: string | null; link: string; traveller: Traveller },
): Promise<MailText> {
  const { tenantId, brand: brandName, link, traveller } = about
  const { esim, codes } = await getTravellerEsim({ db: tx, cipher: deps.cipher }, about)
  const brand = await brandFor({ db: tx, liveBrands: deps.liveBrands, links: deps.links }, tenantId, brandName)
  const language = chooseLanguage(getLanguages(), { handOver: traveller.language, brand: brand.language })
  const worded = withTexts(language, brand.texts)
  const seller = brand.isOperator ? esim.tenantName : brand.name
  const mail = travellerMailOf(worded, { esim, codes, seller, link, name: greetedName(traveller.name ?? '') })
  return { ...composeTravellerMail(mail), traveller: mail }
}

/** In a language: all but the look, which is that of the brand at the moment of sending. */
export function travellerMailOf(
  language: Language,
  about: { esim: TravellerEsim; codes: InstallCodes | undefined; seller: string; link: string; name: string },
): TravellerMail {
  const { esim, codes, seller, link, name } = about
  const { texts, tag, direction } = language
  const title = packageTitle(language, esim.packageName, esim.facts)
  const ready = name === '' ? texts.mailReady : textOf(language, 'mailHello', { name })
  const scan = codes && {
    ...{ title: texts.mailComputer, text: texts.scanText, alt: texts.qrCode },
    qrPng: qrPng(codes.ac).toString('base64'),
  }
  return {
    ...{ language: tag, direction, seller, place: title.place, terms: joinParts(language, title.terms) },
    subject: oneLine(textOf(language, 'mailSubject', { title: titleText(language, title) })),
    greeting: codes ? ready : '',
    facts: codes ? factsOf(language, esim) : [],
    button: { label: codes ? texts.mailInstall : texts.mailShow, url: link },
    advice: codes ? texts.mailOpen : '',
    ...(scan && { scan }),
    questions: texts.mailQuestions,
    why: textOf(language, 'mailWhy', { seller }),
    keep: texts.mailKeep,
  }
}

function factsOf(language: Language, { installBefore, facts, fupPolicy }: TravellerEsim): TravellerMail['facts'] {
  const { texts } = language
  const zone = timeZoneOf(countriesOf(facts))
  return [
    ...(installBefore ? [{ label: texts.installBefore, value: formatMoment(language, installBefore, zone) }] : []),
    ...(fupPolicy === null ? [] : [{ label: texts.fairUse, value: fupPolicy }]),
  ]
}

/** A line break in a name must not add headers. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200)
}
