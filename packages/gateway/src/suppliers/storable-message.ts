/** Stored with the eSIM, its attempt and its refund. Longer messages are cut. */
const MESSAGE_LENGTH_MAX = 300

/**
 * The answer with a message and a reference that PostgreSQL can store. It rejects control characters and lone surrogates,
 * and the transaction with the whole outcome, possibly a refund, would fail.
 */
export function withStorableMessage<Answer extends object>(answer: Answer): Answer {
  const kept = { ...answer } as { message?: unknown; reference?: unknown }
  if (kept.message !== undefined) kept.message = storableText(String(kept.message))
  if (kept.reference !== undefined) kept.reference = storableText(String(kept.reference))
  return kept as Answer
}

/** A text that PostgreSQL can store, cut to the maximum length. */
export function storableText(message: string): string {
  const kept = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message
  return kept.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}
