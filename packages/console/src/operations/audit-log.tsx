import type { AuditEntry } from '@dealer-esim/gateway/http/console/operations/audit-log.ts'
import type { PersonRow } from '@dealer-esim/gateway/http/console/people/people.ts'
import type { AuditAction } from '@dealer-esim/gateway/platform/audit/audited-actions.ts'
import { Anchor, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { CodeBlock } from '#code/code-block.tsx'
import type { Filter } from '#lists/filter-chips.tsx'
import { periodRange } from '#lists/list-period.ts'
import { useList } from '#lists/use-list.ts'
import { useDealerFilter } from '#parts/dealer-filter.tsx'
import { SearchBox, useFilterKinds } from '#parts/filters.tsx'
import { formatDateTime } from '#parts/format.ts'
import { timeColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Facts } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage, language } from '#strings/strings.ts'

// An action without a label does not compile.
const ACTION_LABELS: Record<AuditAction, string> = t.audit.actions

/** Actions on the same kind of thing are listed together, sorted by name. */
const ACTION_GROUPS = Object.entries(t.audit.groups)
  .map(([noun, group]) => ({
    group,
    values: Object.keys(ACTION_LABELS)
      .filter((action) => action.startsWith(`${noun}.`))
      .sort((a, b) => labelOf(a).localeCompare(labelOf(b), language)),
  }))
  .sort((a, b) => a.group.localeCompare(b.group, language))

function labelOf(action: string): string {
  return (ACTION_LABELS as Record<string, string>)[action] ?? action
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const ACTION = /^[a-z_]+(\.[a-z_]+)?$/

export function AuditPage() {
  const [filters, setFilters] = useFilters()
  const { choice, period } = useFilterKinds()
  const { action, subject, tenantId, person } = filters
  const query = {
    action: action && ACTION.test(action) ? action : undefined,
    subject,
    tenantId,
    person,
    ...periodRange(filters),
  }
  const list = useList<AuditEntry>('/audit', 'entries', query)
  const [shown, setShown] = useState<AuditEntry>()
  const choices = [
    choice({ name: 'action', label: t.audit.action, values: [], labels: ACTION_LABELS, groups: ACTION_GROUPS }),
    ...useDealerFilter(),
    usePersonFilter(list.rows?.[0]?.actor),
    period(),
  ]
  return (
    <Page title={t.audit.title} description={t.audit.text}>
      <List<AuditEntry>
        label={t.audit.title}
        list={list}
        name="audit"
        search={<SearchBox name="subject" label={t.audit.filterSubject} />}
        filters={choices}
        idOf={(row) => row.auditId}
        onRowClick={setShown}
        empty={{ title: t.audit.noEntries, text: t.audit.noEntriesText }}
        columns={[
          { accessor: 'action', title: t.audit.action, phone: 'main', render: (row) => labelOf(row.action) },
          timeColumn('createdAt', t.common.time, { phone: 'value' }),
          { accessor: 'actor', title: t.audit.actor, cellsClassName: 'break', phone: 'note' },
          { accessor: 'subject', title: t.audit.subject, cellsClassName: 'break', render: subjectLabel },
          { accessor: 'address', title: t.audit.address },
        ]}
      />
      <Modal
        size="lg"
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown && labelOf(shown.action)}
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
function usePersonFilter(selectedName: string | undefined): Filter {
  const [{ person, tenantId }] = useFilters()
  const { choice } = useFilterKinds()
  const own = useApi<{ people: PersonRow[] }>('/people')
  const dealers = useApi<{ people: PersonRow[] }>('/people', { tenantId }, { enabled: tenantId !== undefined })
  const people = [...(own.data?.people ?? []), ...(tenantId ? (dealers.data?.people ?? []) : [])]
  const labels = Object.fromEntries(people.map(({ personId, email }) => [personId, email]))
  // A person from elsewhere, selected by a link.
  if (person && labels[person] === undefined) labels[person] = selectedName ?? t.audit.selectedPerson
  return choice({ name: 'person', label: t.audit.actor, values: Object.keys(labels), labels })
}

/** Shows the dealer's name instead of a UUID. The entry's details show the id. */
function subjectLabel({ subject, clientName }: AuditEntry): string {
  return (subject !== null && UUID.test(subject) ? clientName : null) ?? subject ?? '–'
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
                {formatMessage(t.audit.allBy, { name: entry.actor })}
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
          <CodeBlock label={t.audit.before} text={jsonText(entry.before)} language="json" />
          <CodeBlock label={t.audit.after} text={jsonText(entry.after)} language="json" />
        </>
      )}
    </Stack>
  )
}

function jsonText(value: unknown): string {
  return value === null ? t.audit.noValue : JSON.stringify(value, null, 2)
}
