import Type, { type Static } from 'typebox'
import { readTravellers } from '#esims/sends/traveller-list.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { file, fileAnswers, toAnswers } from '../kernel/file-answers.ts'
import { type Route, route, TENANT_STAFF } from '../kernel/route.ts'
import { CLOSED, nullable } from '../kernel/route-schemas.ts'

/** A workbook of 200 lines is far smaller. */
const LIST_SIZE_MAX_BYTES = 1024 * 1024
/** A person who types a list causes one reading a pause. */
const READINGS_PER_MINUTE = 120

const travellerList = Type.Object({
  lines: Type.Array(
    Type.Object({
      row: Type.Integer(),
      name: nullable(Type.String()),
      email: Type.String(),
      fault: nullable(sentence('Why nothing can be sent')),
    }),
  ),
  refusal: nullable(sentence('Why the list, or the rest of it, cannot be read')),
  question: nullable(Type.Unknown({ description: 'With the answer as encoding or map, the list can be read' })),
})
type Answer = Static<typeof travellerList>
export type TravellerList = Omit<Answer, 'question'> & Pick<Awaited<ReturnType<typeof readTravellers>>, 'question'>

export const travellerListRoutes: Route[] = [
  route('POST /traveller-lists', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Read a list of travellers, a name and an e-mail address in each line. Stores nothing',
    query: Type.Object(fileAnswers, CLOSED),
    body: file(),
    bodyType: 'text/csv',
    bodyLimit: LIST_SIZE_MAX_BYTES,
    ratePerMinute: READINGS_PER_MINUTE,
    answer: travellerList,
    handle: (_, { query, body }) => readTravellers(body, toAnswers(query)),
  }),
]
