/** What suppliers say stands with each eSIM, its attempt and its refund: more than this helps nobody. */
const WORDS_LENGTH_MAX = 300

/**
 * An answer whose words a table can hold. A control character or half of a character makes PostgreSQL refuse the row, and
 * with it the refund that the answer is the reason for.
 */
export function withStorableMessage<Answer extends object>(answer: Answer): Answer {
  return 'words' in answer ? { ...answer, words: plain(String(answer.words)) } : answer
}

function plain(words: string): string {
  const shown = words.length > WORDS_LENGTH_MAX ? `${words.slice(0, WORDS_LENGTH_MAX)}…` : words
  return shown.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}
