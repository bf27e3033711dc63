/** The exit codes, as `--help` and the README tell them. */
export const EXIT = {
  DONE: 0,
  /** The gateway answered another code than 000000, or `verify` found a fault. */
  REFUSED: 1,
  /** The command line or the settings are wrong; nothing was sent. */
  USAGE: 2,
  /** No readable answer, or one that leaves open what happened. An order may have been placed. */
  OUTCOME_UNKNOWN: 3,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_HELP = `Exit codes:
  0  done
  1  the gateway refused, or verify found a fault
  2  the command line or the settings are wrong; nothing was sent
  3  the outcome is unknown, or there was no readable answer; an order may have been placed: repeat it with the same
     transactionId`

/** Ends the command with a sentence for people. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  constructor(
    message: string,
    readonly exitCode: ExitCode,
  ) {
    super(message)
  }
}

/** What the library refuses as an option that cannot work is a mistake of the command line, or of its settings. */
export function orUsageError<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof TypeError ? new CommandFailed(`${error.message}.`, EXIT.USAGE) : error
  }
}

/** Ends the command; all is said already. */
export class AlreadyReported extends Error {
  override readonly name = 'AllSaid'
  constructor(readonly exitCode: ExitCode) {
    super()
  }
}
