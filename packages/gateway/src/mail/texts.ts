/*
 * All texts of e-mails. Plain text without line breaks in paragraphs: mail programs wrap them. An alert's own message says
 * what happened, as in the console.
 */

export interface MailText {
  subject: string
  text: string
}

/** Subjects of alerts by kind; `{client}` is the dealer's name. Other kinds have a general subject. */
export const ALERT_SUBJECTS: Readonly<Record<string, string>> = {
  LOW_BALANCE: 'Your balance is low: {client}',
  ENDPOINT_FAILING: 'Your callback URL does not answer: {client}',
  ENDPOINT_DISABLED: 'Your callback URL was disabled: {client}',
  LOW_STOCK: 'Activation codes are running low',
  SUPPLIER_PRICE: 'A supplier’s prices differ from your catalogue',
  SUPPLIER_SPEND_LIMIT: 'A supplier’s daily spend limit was reached',
  SUPPLIER_CATALOGUE: 'A supplier’s catalogue was not taken over',
  SUPPLIER_BALANCE: 'Your balance at a supplier is low',
  SUPPLIER_NO_MONEY: 'A supplier refuses purchases for lack of money',
  PACKAGES_OFF_SALE: 'Packages went off sale after a change of costs',
  UNDER_REVIEW: 'Orders wait for your decision',
  ORPHAN_ESIM: 'Unexpected eSIM received',
  ACTION_UNDER_REVIEW: 'A supplier did not answer about an eSIM',
  TOP_UP_REQUESTED: 'A dealer asks for a top-up',
  TOP_UP_PAID: 'Your top-up was credited: {client}',
  TOP_UP_DECLINED: 'Your top-up request was declined: {client}',
  LEDGER_FAULT: 'The ledger does not add up',
}

/** The console page that shows the details. */
const ALERT_PAGES: Readonly<Record<string, string>> = {
  LOW_BALANCE: '/wallet',
  ENDPOINT_FAILING: '/webhooks',
  ENDPOINT_DISABLED: '/webhooks',
  LOW_STOCK: '/stock',
  SUPPLIER_PRICE: '/catalogue',
  SUPPLIER_SPEND_LIMIT: '/suppliers',
  SUPPLIER_CATALOGUE: '/suppliers',
  SUPPLIER_BALANCE: '/suppliers',
  SUPPLIER_NO_MONEY: '/suppliers',
  PACKAGES_OFF_SALE: '/catalogue',
  UNDER_REVIEW: '/orders',
  TOP_UP_REQUESTED: '/top-up-requests',
  TOP_UP_PAID: '/top-up-requests',
  TOP_UP_DECLINED: '/top-up-requests',
}

export function alertMail(
  alert: { kind: string; message: string },
  about: { client: string; consoleUrl: string },
): MailText {
  const subject = (ALERT_SUBJECTS[alert.kind] ?? 'An alert about your eSIM account').replace('{client}', about.client)
  return {
    subject: oneLine(subject),
    text: [
      alert.message,
      `Details in the console: ${about.consoleUrl}${ALERT_PAGES[alert.kind] ?? '/notices'}`,
      'You receive this e-mail because your address is registered for such alerts. It was sent automatically; replies are not read.',
    ].join('\n\n'),
  }
}

export function linkMail(kind: 'INVITATION' | 'PASSWORD_RESET', about: { name: string; link: string }): MailText {
  const invitation = kind === 'INVITATION'
  return {
    subject: invitation ? 'Your invitation to the eSIM console' : 'Choose a new password for the eSIM console',
    text: [
      `${greeting(oneLine(about.name))},`,
      invitation
        ? 'you have been invited to the eSIM console. Open this link to choose a password and sign in:'
        : 'a new password was requested for your account at the eSIM console. Open this link to choose one:',
      about.link,
      invitation
        ? 'The link works once, within seven days. If you did not expect an invitation, ignore this e-mail.'
        : 'The link works once, within 24 hours. If you did not request it, ignore this e-mail and inform the operator of the console: your old password stays valid.',
      'Keep the link to yourself: anyone who opens it first can sign in as you.',
    ].join('\n\n'),
  }
}

/** To a traveller. Its words are ours, so that nobody can write to strangers in the operator's name. */
export function shareMail(about: { seller: string; packageName: string; link: string }): MailText {
  const seller = oneLine(about.seller)
  return {
    subject: oneLine(`Your eSIM from ${seller}`),
    text: [
      'Hello,',
      `your eSIM “${oneLine(about.packageName)}” from ${seller} is ready. Open this link on the device that you travel with to install it:`,
      about.link,
      'The page also shows how much data is left. Keep the link to yourself: an eSIM can be installed once, by anyone who has the link.',
      `If you have questions, ask ${seller}. This e-mail was sent automatically; replies are not read. If you did not expect it, ignore it.`,
    ].join('\n\n'),
  }
}

/**
 * The inviter chooses the name, and the mail goes to any address in the operator's name. Mail programs turn text that looks
 * like an address into a link, so such a name is left out.
 */
function greeting(name: string): string {
  return /[/\\@:]|[.\u2024\u3002\uff0e]\S/.test(name) ? 'Hello' : `Hello ${name}`
}

/** A line break in a name must not add headers. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200)
}
