import sql from 'sql-template-tag'
import { audit, byPerson } from '../audit/audit.ts'
import { Refusal } from '../lib/refusal.ts'
import { checkPasswordRules, hashPassword } from './password.ts'
import { lockProven, type Person } from './person.ts'
import { endSessions } from './session.ts'
import { passwordWrong, type SignInDeps, signInAgain } from './sign-in.ts'

/** Changes the own password; the other sessions end, the one that asks stays. */
export async function changePassword(
  deps: SignInDeps,
  person: Person,
  given: { password: string; code?: string | undefined; newPassword: string; sessionId: string; address: string },
): Promise<void> {
  await signInAgain(deps, person, given)
  checkPasswordRules(given.newPassword, person)
  if (given.newPassword === given.password)
    throw new Refusal(422, 'PASSWORD_WEAK', 'Choose a password that differs from the present one.')
  const passwordHash = await hashPassword(given.newPassword)
  await deps.db.tx(async (tx) => {
    if (!(await lockProven(tx, person))) throw passwordWrong()
    tx.send(sql`
      update people set password_hash = ${passwordHash}, password_change_required = false, updated_at = now()
      where person_id = ${person.personId}`)
    endSessions(tx, person.personId, given.sessionId)
    const by = byPerson(person, given.address)
    const { tenantId, email: subject } = person
    audit(tx, deps.ids, { tenantId, ...by, action: 'person.change_password', subject })
  })
}
