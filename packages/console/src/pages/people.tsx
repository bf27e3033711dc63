import { Page } from '../parts/page.tsx'
import { t } from '../strings/index.ts'
import { PeopleList } from './people-list.tsx'

/** The operator's own people; a dealer's stand with the dealer. */
export function PeoplePage() {
  return (
    <Page title={t.people.title} description={t.people.text}>
      <PeopleList tenantId={null} />
    </Page>
  )
}
