/** A supplier's message is stored with the eSIM, its attempt and its refund: nobody needs more of it than this. */
const MESSAGE_LENGTH_MAX = 300

/**
 * The answer with a message and a reference that PostgreSQL can store. It would refuse control characters and lone surrogates, and with
 * them the whole outcome, a refund included.
 */
export function withStorableMessage<Answer extends object>(answer: Answer): Answer {
  const kept = { ...answer } as { message?: unknown; reference?: unknown }
  if (kept.message !== undefined) kept.message = storableText(String(kept.message))
  if (kept.reference !== undefined) kept.reference = storableText(String(kept.reference))
  return kept as Answer
}

/** A text that PostgreSQL can store, at most so long. */
export function storableText(message: string): string {
  const kept = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message
  return kept.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}
