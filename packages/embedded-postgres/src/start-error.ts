/** The server cannot start, and the user can fix it: the message says what happened and what to do. */
export class StartError extends Error {
  override readonly name: string = 'StartError'
}

/** What the launcher logs to; a pino logger can be passed. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
