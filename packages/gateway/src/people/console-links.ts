/** Where people reach the console, without a slash at its end: an address of its own, or the gateway's. */
export function consoleUrlOf({
  consoleUrl,
  publicUrl,
}: {
  consoleUrl?: string | undefined
  publicUrl: string
}): string {
  return `${consoleUrl ?? publicUrl}/console`
}

/**
 * Where an invited person chooses a password. The token stands after `#`: browsers do not send that part, so it never
 * reaches a server's log.
 */
export function welcomeLink(consoleUrl: string, token: string): string {
  return `${consoleUrl}/welcome#${token}`
}
