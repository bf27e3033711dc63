/** The exit codes, as documented by `--help` and the README. */
export const EXIT = {
  DONE: 0,
  /** The gateway returned a code other than 000000, or `verify` found a fault. */
  REFUSED: 1,
  /** The command line or the settings are wrong; nothing was sent. */
  USAGE: 2,
  /** There was no readable answer, or the outcome is unknown. An order may have been placed. */
  OUTCOME_UNKNOWN: 3,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_HELP = `Exit codes:
  0  done
  1  the gateway refused, or verify found a fault
  2  the command line or the settings are wrong; nothing was sent
  3  the outcome is unknown, or there was no readable answer; an order may have been placed: repeat it with the same
     transactionId`

/** Ends the command with a message. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  constructor(
    message: string,
    readonly exitCode: ExitCode,
  ) {
    super(message)
  }
}

/** Ends the command after Ctrl-C. @param activity what it was doing, such as `waiting for an event` */
export function failIfInterrupted(signal: AbortSignal, activity: string): void {
  if (signal.aborted) throw new CommandFailed(`Interrupted while ${activity}.`, EXIT.OUTCOME_UNKNOWN)
}

/** Turns the library's TypeError for an invalid option into a usage error. */
export function orUsageError<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof TypeError ? new CommandFailed(`${error.message.replace(/\.$/, '')}.`, EXIT.USAGE) : error
  }
}

/** Ends the command; the result has been printed already. */
export class AlreadyReported extends Error {
  override readonly name = 'AlreadyReported'
  constructor(readonly exitCode: ExitCode) {
    super()
  }
}
