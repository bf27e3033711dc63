/*
 * Every text that leaves by e-mail, in one place. Plain text, short lines are not needed: readers' programs wrap them.
 * What happened is said by the notice's own sentence, the same that the console shows.
 */

export interface MailText {
  subject: string
  text: string
}

/** Subjects of notices; `{client}` is the dealer's name. A kind that is not here is told under a plain subject. */
export const ALERT_SUBJECTS: Readonly<Record<string, string>> = {
  LOW_BALANCE: 'Your balance is low: {client}',
  ENDPOINT_FAILING: 'Your callback URL does not answer: {client}',
  ENDPOINT_DISABLED: 'Your callback URL was disabled: {client}',
  LOW_STOCK: 'Activation codes are running low',
  SUPPLIER_PRICE: 'A supplier asks other prices than your catalogue has',
  UNDER_REVIEW: 'Orders wait for your decision',
  ORPHAN_ESIM: 'An eSIM came that nobody waits for',
  CANCEL_UNANSWERED: 'A supplier did not confirm a cancellation',
  LEDGER_FAULT: 'The ledger does not add up',
}

/** Where in the console the reader goes on. */
const NOTICE_PAGES: Readonly<Record<string, string>> = {
  LOW_BALANCE: '/wallet',
  ENDPOINT_FAILING: '/webhooks',
  ENDPOINT_DISABLED: '/webhooks',
  LOW_STOCK: '/stock',
  SUPPLIER_PRICE: '/catalogue',
  UNDER_REVIEW: '/orders',
}

export function alertMail(
  notice: { kind: string; message: string },
  about: { client: string; consoleUrl: string },
): MailText {
  const subject = (ALERT_SUBJECTS[notice.kind] ?? 'A notice about your eSIM account').replace('{client}', about.client)
  return {
    subject: oneLine(subject),
    text: [
      notice.message,
      `The console tells more: ${about.consoleUrl}${NOTICE_PAGES[notice.kind] ?? '/notices'}`,
      'You get this e-mail because your address is named for such notices. It was sent by a program; nobody reads answers to it.',
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
        : 'a new password was asked for your account at the eSIM console. Open this link to choose one:',
      about.link,
      invitation
        ? 'The link works once, within seven days. If you did not expect an invitation, ignore this e-mail.'
        : 'The link works once, within 24 hours. If you did not ask for it, ignore this e-mail and tell whoever runs the console: your old password goes on working.',
      'Keep the link to yourself: whoever opens it first becomes you.',
    ].join('\n\n'),
  }
}

/**
 * Whoever invites writes the name, and the mail goes to any address in the operator's name: readers' programs make a link of
 * whatever looks like an address, so such a name is left out.
 */
function greeting(name: string): string {
  return /[/\\@:]|[.\u2024\u3002\uff0e]\S/.test(name) ? 'Hello' : `Hello ${name}`
}

/** A name with a line break in it must not write headers. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200)
}
