/** The server cannot start for a reason that the user can fix. The message says what happened and what to do. */
export class StartError extends Error {
  override readonly name: string = 'StartError'
}

/** The launcher's log; a pino logger can be passed. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
