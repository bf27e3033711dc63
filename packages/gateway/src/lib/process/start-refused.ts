/** The gateway cannot start, and whoever starts it can change that: the message is a sentence to print without a stack. */
export class StartRefused extends Error {
  override readonly name: string = 'StartRefused'
}
