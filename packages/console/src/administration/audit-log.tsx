import type { AuditAction } from '@dealer-esim/gateway/audit/actions.ts'
import type { AuditEntry } from '@dealer-esim/gateway/console-api/audit.ts'
import type { PersonRow } from '@dealer-esim/gateway/console-api/people.ts'
import { Anchor, Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '../api/call.ts'
import { useApi } from '../api/use-api.ts'
import { TenantFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, Period, rangeOf, SearchField, useFilters } from '../parts/filters.tsx'
import { fullTime } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Facts, When } from '../parts/values.tsx'
import { say, t } from '../strings/strings.ts'

// An action without words does not compile.
const WORDS: Record<AuditAction, string> = t.audit.actions
const ACTIONS = Object.keys(WORDS)
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ACTION = /^[a-z_]+(\.[a-z_]+)?$/

export function AuditPage() {
  const [filters, setFilters] = useFilters()
  const { action, subject, tenantId, person, cursor } = filters
  const query = {
    action: action && ACTION.test(action) ? action : undefined,
    subject,
    tenantId,
    person,
    ...rangeOf(filters),
  }
  const list = useApi<{ entries: AuditEntry[]; nextCursor: string | null }>('/audit', { ...query, cursor })
  const [shown, setShown] = useState<AuditEntry>()
  return (
    <Page
      title={t.audit.title}
      description={t.audit.text}
      actions={
        <Button component="a" href={apiUrl('/audit.csv', query).href} download variant="default">
          {t.common.export}
        </Button>
      }
    >
      <Group>
        <FilterSelect name="action" label={t.audit.action} of={ACTIONS} texts={WORDS} />
        <SearchField
          label={t.audit.filterSubject}
          value={subject ?? ''}
          onChange={(value) => setFilters({ subject: value })}
        />
        <TenantFilter />
        <PersonFilter nameOfChosen={list.data?.entries[0]?.actor} />
        <Period />
      </Group>
      <List<AuditEntry>
        label={t.audit.title}
        rows={list.data?.entries}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.auditId}
        onRow={setShown}
        empty={{ title: t.audit.empty, text: t.audit.emptyText }}
        columns={[
          { accessor: 'action', title: t.audit.action, render: (row) => nameOf(row.action) },
          { accessor: 'createdAt', title: t.common.time, render: (row) => <When at={row.createdAt} /> },
          { accessor: 'actor', title: t.audit.actor, cellsClassName: 'break' },
          { accessor: 'subject', title: t.audit.subject, cellsClassName: 'break', render: subjectOf },
          { accessor: 'address', title: t.audit.address },
        ]}
      />
      <Modal
        size="lg"
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown && nameOf(shown.action)}
        closeButtonProps={{ 'aria-label': t.common.close }}
      >
        {shown && (
          <Entry
            of={shown}
            onPerson={(person) => {
              setFilters({ person })
              setShown(undefined)
            }}
          />
        )}
      </Modal>
    </Page>
  )
}

/** Of ids that nobody reads, whose they are; the entry itself has them. */
function subjectOf({ subject, clientName }: AuditEntry): string {
  return (subject !== null && UUID.test(subject) ? clientName : null) ?? subject ?? '–'
}

function nameOf(action: string): string {
  return (WORDS as Record<string, string>)[action] ?? action
}

function Entry({ of, onPerson }: { of: AuditEntry; onPerson(personId: string): void }) {
  const { personId } = of
  return (
    <Stack>
      <Facts
        of={[
          [t.common.time, fullTime(of.createdAt)],
          [
            t.audit.actor,
            personId === null ? (
              of.actor
            ) : (
              <Anchor key="p" component="button" type="button" size="sm" ta="left" onClick={() => onPerson(personId)}>
                {say(t.audit.allBy, { name: of.actor })}
              </Anchor>
            ),
          ],
          [t.audit.address, of.address],
          [t.common.dealer, of.clientName],
          [t.audit.subject, of.subject],
        ]}
      />
      {of.before === null && of.after === null ? (
        <Text size="sm">{t.audit.unchanged}</Text>
      ) : (
        <>
          <Part name={t.audit.before} of={of.before} />
          <Part name={t.audit.after} of={of.after} />
        </>
      )}
    </Stack>
  )
}

function Part({ name, of }: { name: string; of: unknown }) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {name}
      </Text>
      <pre className="code">{of === null ? t.audit.nothing : JSON.stringify(of, null, 2)}</pre>
    </div>
  )
}

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
