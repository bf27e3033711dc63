import type { By } from '../../audit/audit.ts'
import { Refusal } from '../../lib/refusal.ts'

/** How long the first person's proposal or confirmation counts. Later, nobody remembers the details any more. */
export const FIRST_PERSON_DAYS = 7

/** @param message what this person cannot do @throws Refusal if the second person is the first */
export function requireSecondPerson(firstPerson: string, by: By, message: string): void {
  if (firstPerson === by.actor) throw new Refusal(409, 'SECOND_PERSON_NEEDED', `${message} Ask another operator.`)
}
