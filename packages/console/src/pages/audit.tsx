import type { AuditAction } from '@dealer-esim/gateway/audit/actions.ts'
import type { AuditEntry } from '@dealer-esim/gateway/console-api/audit.ts'
import { Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '../api.ts'
import { fullTime } from '../format.ts'
import { Facts } from '../parts/facts.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Period, rangeOf } from '../parts/period.tsx'
import { PersonFilter } from '../parts/person-filter.tsx'
import { SearchField } from '../parts/search-field.tsx'
import { TenantFilter } from '../parts/tenant-filter.tsx'
import { When } from '../parts/when.tsx'
import { say, t } from '../strings/index.ts'
import { useApi } from '../use-api.ts'
import { useFilters } from '../use-filters.ts'

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
