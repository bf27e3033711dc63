import type { NotesView, TagsView } from '@dealer-esim/gateway/http/console/tenants/notes.ts'
import { ActionIcon, Badge, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useApi, useChange } from '#api/use-api.ts'
import { formFields } from '#parts/form-values.ts'
import { Card } from '#parts/page.tsx'
import { Hint, Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

export type NoteView = NotesView['notes'][number]

/** The operator's tags and notes on a dealer. */
export function DealerNotes({ tenantId }: { tenantId: string }) {
  const path = `/tenants/${tenantId}/notes`
  const { data } = useApi<NotesView>(path)
  if (!data) return null
  return (
    <Card title={t.notes.title}>
      <Tags tenantId={tenantId} />
      {data.notes.length === 0 && <Text size="sm">{t.notes.none}</Text>}
      {data.notes.map((note) => (
        <div key={note.noteId}>
          <Text size="sm" fw={600}>
            {note.actor}
          </Text>
          <NoteText tenantId={tenantId} note={note} />
        </div>
      ))}
      <AddNote path={path} />
    </Card>
  )
}

/** The text of a note and when it was written, with the button that deletes it. */
export function NoteText({ tenantId, note }: { tenantId: string; note: NoteView }) {
  const me = useSession()
  const remove = useChange({ success: t.notes.deleted })
  const { noteId, text, createdAt } = note
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start" data-note>
      <div className="measure">
        <Text size="sm" className="note">
          {text}
        </Text>
        <Hint size="xs">
          <Timestamp time={createdAt} />
        </Hint>
      </div>
      {canOperate(me) && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={t.notes.delete}
          onClick={() => remove.mutate({ method: 'DELETE', path: `/tenants/${tenantId}/notes/${noteId}` })}
        >
          <IconTrash size={16} />
        </ActionIcon>
      )}
    </Group>
  )
}

/** Adds a note at a path. Dealers never see notes. */
export function AddNote({ path }: { path: string }) {
  const me = useSession()
  const add = useChange({ success: t.notes.added })
  if (!canOperate(me)) return null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const form = event.currentTarget
        add.mutate({ method: 'POST', path, body: formFields(form) }, { onSuccess: () => form.reset() })
      }}
    >
      <Stack gap="xs" align="flex-start">
        <Textarea
          name="text"
          label={t.notes.new}
          description={t.notes.text}
          autosize
          minRows={1}
          maxLength={2_000}
          required
          w="100%"
          className="measure"
        />
        <Button type="submit" variant="default" loading={add.isPending}>
          {t.notes.add}
        </Button>
      </Stack>
    </form>
  )
}

function Tags({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const path = `/tenants/${tenantId}/tags`
  const { data } = useApi<TagsView>(path)
  const save = useChange({ success: t.notes.tagsSaved })
  if (!data) return null
  if (!canOperate(me))
    return (
      <Group gap="xs">
        {data.tags.map((tag) => (
          <Badge key={tag} variant="light" tt="none" radius="sm">
            {tag}
          </Badge>
        ))}
      </Group>
    )
  return (
    <form
      key={data.tags.join()}
      onSubmit={(event) => {
        event.preventDefault()
        const { tags = '' } = formFields(event.currentTarget)
        const body = {
          tags: tags
            .split(',')
            .map((tag) => tag.trim())
            .filter((tag) => tag !== ''),
        }
        save.mutate({ method: 'PUT', path, body })
      }}
    >
      <Group align="flex-end">
        <TextInput
          name="tags"
          label={t.notes.tags}
          description={t.notes.tagsHint}
          defaultValue={data.tags.join(', ')}
          w={{ base: '100%', sm: 420 }}
        />
        <Button type="submit" variant="default" loading={save.isPending}>
          {t.notes.saveTags}
        </Button>
      </Group>
    </form>
  )
}
