import type { AuditAction } from '@dealer-esim/gateway/audit/actions.ts'
import type { AuditEntry } from '@dealer-esim/gateway/console-api/routes/administration/audit.ts'
import type { PersonRow } from '@dealer-esim/gateway/console-api/routes/administration/people.ts'
import { Anchor, Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '../api/call.ts'
import { useApi } from '../api/use-api.ts'
import { DealerFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, PeriodFilter, periodRange, SearchField, useFilters } from '../parts/filters.tsx'
import { formatDateTime } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Facts, Timestamp } from '../parts/values.tsx'
import { interpolate, language, t } from '../strings/strings.ts'

// An action without a label does not compile.
const ACTION_LABELS: Record<AuditAction, string> = t.audit.actions

/** In the order in which the filter shows them. */
const ACTIONS = Object.entries(ACTION_LABELS)
  .sort(([, a], [, b]) => a.localeCompare(b, language))
  .map(([action]) => action)

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
    ...periodRange(filters),
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
        <FilterSelect name="action" label={t.audit.action} values={ACTIONS} labels={ACTION_LABELS} />
        <SearchField
          label={t.audit.filterSubject}
          value={subject ?? ''}
          onChange={(value) => setFilters({ subject: value })}
        />
        <DealerFilter />
        <PersonFilter selectedName={list.data?.entries[0]?.actor} />
        <PeriodFilter />
      </Group>
      <List<AuditEntry>
        label={t.audit.title}
        rows={list.data?.entries}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.auditId}
        onRowClick={setShown}
        empty={{ title: t.audit.noEntries, text: t.audit.noEntriesText }}
        columns={[
          { accessor: 'action', title: t.audit.action, render: (row) => actionLabel(row.action) },
          { accessor: 'createdAt', title: t.common.time, render: (row) => <Timestamp time={row.createdAt} /> },
          { accessor: 'actor', title: t.audit.actor, cellsClassName: 'break' },
          { accessor: 'subject', title: t.audit.subject, cellsClassName: 'break', render: subjectLabel },
          { accessor: 'address', title: t.audit.address },
        ]}
      />
      <Modal
        size="lg"
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown && actionLabel(shown.action)}
        closeButtonProps={{ 'aria-label': t.common.close }}
      >
        {shown && (
          <EntryDetails
            entry={shown}
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

/** Filters by person: the user's own colleagues, and the people of the selected dealer. */
export function PersonFilter({ selectedName }: { selectedName: string | undefined }) {
  const [{ person, tenantId }, setFilters] = useFilters()
  const own = useApi<{ people: PersonRow[] }>('/people')
  const dealers = useApi<{ people: PersonRow[] }>('/people', { tenantId }, { enabled: tenantId !== undefined })
  const people = [...(own.data?.people ?? []), ...(tenantId ? (dealers.data?.people ?? []) : [])]
  const options = new Map(people.map(({ personId, email }) => [personId, email]))
  // A person from elsewhere, selected by a link.
  if (person && !options.has(person)) options.set(person, selectedName ?? t.audit.selectedPerson)
  return (
    <Select
      aria-label={t.audit.actor}
      placeholder={`${t.audit.actor}: ${t.common.anyone}`}
      data={Array.from(options, ([value, label]) => ({ value, label }))}
      value={person ?? null}
      onChange={(chosen) => setFilters({ person: chosen })}
      nothingFoundMessage={t.people.noMatch}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t.common.clear }}
      w={{ base: '100%', sm: 220 }}
    />
  )
}

/** Shows the dealer's name instead of a UUID. The entry's details show the id. */
function subjectLabel({ subject, clientName }: AuditEntry): string {
  return (subject !== null && UUID.test(subject) ? clientName : null) ?? subject ?? '–'
}

function actionLabel(action: string): string {
  return (ACTION_LABELS as Record<string, string>)[action] ?? action
}

function EntryDetails({ entry, onPerson }: { entry: AuditEntry; onPerson(personId: string): void }) {
  const { personId } = entry
  return (
    <Stack>
      <Facts
        items={[
          [t.common.time, formatDateTime(entry.createdAt)],
          [
            t.audit.actor,
            personId === null ? (
              entry.actor
            ) : (
              <Anchor key="p" component="button" type="button" size="sm" ta="left" onClick={() => onPerson(personId)}>
                {interpolate(t.audit.allBy, { name: entry.actor })}
              </Anchor>
            ),
          ],
          [t.audit.address, entry.address],
          [t.common.dealer, entry.clientName],
          [t.audit.subject, entry.subject],
        ]}
      />
      {entry.before === null && entry.after === null ? (
        <Text size="sm">{t.audit.unchanged}</Text>
      ) : (
        <>
          <JsonBlock name={t.audit.before} value={entry.before} />
          <JsonBlock name={t.audit.after} value={entry.after} />
        </>
      )}
    </Stack>
  )
}

function JsonBlock({ name, value }: { name: string; value: unknown }) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {name}
      </Text>
      <pre className="code">{value === null ? t.audit.noValue : JSON.stringify(value, null, 2)}</pre>
    </div>
  )
}
