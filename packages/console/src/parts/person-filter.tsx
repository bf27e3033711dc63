import type { PersonRow } from '@dealer-esim/gateway/console-api/people.ts'
import { Select } from '@mantine/core'
import { t } from '../strings/index.ts'
import { useApi } from '../use-api.ts'
import { useFilters } from '../use-filters.ts'

/** Narrows a list to what one person did: somebody of one's own organisation, or of the dealer that is filtered by. */
export function PersonFilter({ nameOfChosen }: { nameOfChosen: string | undefined }) {
  const [{ person, tenantId }, setFilters] = useFilters()
  const own = useApi<{ people: PersonRow[] }>('/people')
  const dealers = useApi<{ people: PersonRow[] }>('/people', { tenantId }, { enabled: tenantId !== undefined })
  const people = [...(own.data?.people ?? []), ...(tenantId ? (dealers.data?.people ?? []) : [])]
  const options = new Map(people.map(({ personId, email }) => [personId, email]))
  // Somebody of another organisation, come to by a link.
  if (person && !options.has(person)) options.set(person, nameOfChosen ?? t.audit.somebody)
  return (
    <Select
      aria-label={t.audit.actor}
      placeholder={`${t.audit.actor}: ${t.common.anybody}`}
      data={Array.from(options, ([value, label]) => ({ value, label }))}
      value={person ?? null}
      onChange={(chosen) => setFilters({ person: chosen })}
      nothingFoundMessage={t.people.noneFits}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t.common.clear }}
      w={{ base: '100%', sm: 220 }}
    />
  )
}
