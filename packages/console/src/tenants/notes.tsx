import type { NotesView, TagsView } from '@dealer-esim/gateway/http/console/tenants/notes.ts'
import { ActionIcon, Badge, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useApi, useChange } from '#api/use-api.ts'
import { formFields } from '#parts/form-values.ts'
import { Card } from '#parts/page.tsx'
import { Hint, Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

/** The operator's tags of a dealer and notes on it. */
export function DealerNotes({ tenantId }: { tenantId: string }) {
  return <Notes tenantId={tenantId} path={`/tenants/${tenantId}/notes`} hasTags />
}

/** The operator's notes on an order. */
export function OrderNotes({ tenantId, orderNo }: { tenantId: string; orderNo: string }) {
  return <Notes tenantId={tenantId} path={`/tenants/${tenantId}/orders/${orderNo}/notes`} />
}

function Notes({ tenantId, path, hasTags }: { tenantId: string; path: string; hasTags?: boolean }) {
  const me = useSession()
  const { data } = useApi<NotesView>(path)
  const add = useChange({ success: t.notes.added })
  const remove = useChange({ success: t.notes.deleted })
  if (!data) return null
  return (
    <Card title={t.notes.title}>
      <Hint>{t.notes.text}</Hint>
      {hasTags && <Tags tenantId={tenantId} />}
      {data.notes.length === 0 && <Text size="sm">{t.notes.none}</Text>}
      {data.notes.map(({ noteId, text, actor, createdAt }) => (
        <Group key={noteId} justify="space-between" wrap="nowrap" align="flex-start" data-note>
          <div>
            <Text size="sm" className="note">
              {text}
            </Text>
            <Hint size="xs">
              {actor} · <Timestamp time={createdAt} />
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
      ))}
      {canOperate(me) && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            add.mutate({ method: 'POST', path, body: formFields(form) }, { onSuccess: () => form.reset() })
          }}
        >
          <Stack gap="xs" align="flex-start">
            <Textarea name="text" label={t.notes.new} autosize minRows={2} maxLength={2_000} required w="100%" />
            <Button type="submit" size="xs" variant="default" loading={add.isPending}>
              {t.notes.add}
            </Button>
          </Stack>
        </form>
      )}
    </Card>
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
