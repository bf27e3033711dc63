import Type from 'typebox'
import { PASSWORD_LENGTH_MAX } from '../people/password.ts'

/** What proves that it is still the same person: asked for again before secrets, accounts and people. */
export const proof = {
  password: Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX }),
  code: Type.Optional(Type.String({ minLength: 6, maxLength: 30 })),
}

/** A brake on guesses from one address; who guesses is counted and locked out by signInAgain. */
export const PROOFS_PER_MINUTE = 20
