import { LINK_LIFETIME, type LinkKind } from '#people/personal-link.ts'
import type { AlertKind } from '../alert-kinds.ts'
import { composeMail, type MailReader, type MailText } from './mail-template.ts'

/*
 * All texts of e-mails, in English: languages/people has the others. An alert's own message says what happened, as in the
 * console.
 */

/** Subjects of alerts by kind; `{client}` is the dealer's name. Kinds added by a newer gateway have a general subject. */
export const ALERT_SUBJECTS: Readonly<Record<AlertKind, string>> = {
  LOW_BALANCE: 'Your balance is low: {client}',
  ENDPOINT_FAILING: 'Your callback URL is not responding: {client}',
  ENDPOINT_DISABLED: 'Your callback URL was disabled: {client}',
  LOW_STOCK: 'Activation codes are running low',
  STOCK_EXPIRING: 'Activation codes expire soon',
  SUPPLIER_PRICE: 'A supplier’s prices differ from your catalogue',
  SUPPLIER_SPEND_LIMIT: 'A supplier’s daily spend limit was reached',
  SUPPLIER_CATALOGUE: 'A supplier’s catalogue was held back',
  SUPPLIER_BALANCE: 'Your balance at a supplier is low',
  SUPPLIER_CHARGES: 'Your balance at a supplier changed without an explanation',
  SUPPLIER_NO_MONEY: 'Purchases refused: your balance at a supplier is too low',
  PACKAGES_OFF_SALE: 'Packages went off sale after a change of costs',
  UNDER_REVIEW: 'Orders are waiting for your decision',
  ORDERS_LATE: 'Orders are waiting longer than usual',
  DEALER_QUESTION: 'A dealer has a question',
  ORDER_QUESTION: 'A dealer asks about an order',
  ORPHAN_ESIM: 'Unexpected eSIM received',
  ACTION_UNDER_REVIEW: 'A supplier did not answer about an eSIM',
  TOP_UP_REQUESTED: 'A dealer has reported a payment',
  TOP_UP_PAID: 'Your top-up was credited: {client}',
  TOP_UP_DECLINED: 'Your top-up request was declined: {client}',
  BACKUP_OLD: 'The last backup is older than a day',
  LEDGER_FAULT: 'The ledger does not add up',
}

/** @param about.path of the console page with what the alert is about (alerts/alert-path.ts) */
export function alertMail(
  alert: { kind: string; message: string },
  about: { client: string; consoleUrl: string; path: string },
  reader?: MailReader,
): MailText {
  const subject = (
    (ALERT_SUBJECTS as Readonly<Record<string, string>>)[alert.kind] ?? 'An alert about your eSIM account'
  ).replace('{client}', about.client)
  return composeMail({
    subject: oneLine(subject),
    paragraphs: [alert.message, { label: 'Details in the console', url: about.consoleUrl + about.path }],
    footer:
      'You are receiving this e-mail because your address is registered for such alerts. If you have a console account, its Account page lets you choose which alerts you receive.',
    ...(reader && { reader }),
  })
}

const LINK_TEXTS: Record<LinkKind, { subject: string; text: string; label: string; valid: string }> = {
  INVITATION: {
    subject: 'Your invitation to the eSIM console',
    text: 'You have been invited to the eSIM console. Open this link to choose a password and sign in:',
    label: 'Choose a password',
    valid: `The link can be used once and expires after ${LINK_LIFETIME.INVITATION}. If you did not expect an invitation, ignore this e-mail.`,
  },
  PASSWORD_RESET: {
    subject: 'Choose a new password for the eSIM console',
    text: 'A new password was requested for your account at the eSIM console. Open this link to choose one:',
    label: 'Choose a new password',
    valid: `The link can be used once and expires after ${LINK_LIFETIME.PASSWORD_RESET}. If you did not request it, ignore this e-mail and inform the operator of the console: your old password stays valid.`,
  },
  FORGOTTEN_PASSWORD: {
    subject: 'Choose a new password for the eSIM console',
    text: 'Somebody, probably you, said that they forgot the password of your account at the eSIM console. Open this link to choose a new one:',
    label: 'Choose a new password',
    valid: `The link can be used once and expires after ${LINK_LIFETIME.FORGOTTEN_PASSWORD}. All your sessions and access tokens then end, and a second factor stays required. If it was not you, ignore this e-mail: your old password stays valid.`,
  },
}

export function linkMail(kind: LinkKind, about: { name: string; link: string }, reader?: MailReader): MailText {
  const { subject, text, label, valid } = LINK_TEXTS[kind]
  return composeMail({
    subject,
    paragraphs: [greeting(oneLine(about.name)), text, { label, url: about.link }, valid],
    footer: 'Keep the link to yourself: anyone who opens it first can set your password.',
    ...(reader && { reader }),
  })
}

export function passkeyMail({ name, accountUrl }: { name: string; accountUrl: string }, reader?: MailReader): MailText {
  return composeMail({
    subject: 'A passkey was added to your account',
    paragraphs: [
      `The passkey “${oneLine(name)}” can now sign in to your account at the eSIM console.`,
      'If it was not you, remove it on your account page, change your password, and inform the operator of the console.',
      { label: 'Your account', url: accountUrl },
    ],
    footer: 'You receive this e-mail because it concerns the security of your account.',
    ...(reader && { reader }),
  })
}

/** The test e-mail, sent to the person who requested it. */
export function testMail(consoleUrl: string, reader?: MailReader): MailText {
  return composeMail({
    subject: 'Test e-mail from the eSIM console',
    paragraphs: ['The gateway can send e-mail.', { label: 'Open the settings', url: `${consoleUrl}/settings` }],
    footer: 'You receive this e-mail because you sent it to yourself from the console.',
    ...(reader && { reader }),
  })
}

function greeting(name: string): string {
  const greeted = greetedName(name)
  return greeted === '' ? 'Hello,' : `Hello ${greeted},`
}

/**
 * The person who invites or sends chooses the name, and the e-mail can go to any address on the operator's behalf. Mail programs turn
 * text that looks like an address into a link, so such a name is empty.
 */
export function greetedName(name: string): string {
  const line = oneLine(name).trim()
  return /[/\\@:]|[.\u2024\u3002\uff0e]\S/.test(line) ? '' : line
}

/** A line break in a name must not add headers. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200)
}
