import { EVENT_FORMATS, EVENT_TYPES, RT_EVENT_TYPES } from '@dealer-esim/contract'
import type { EndpointView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { Alert, Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import type { FormEvent } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { markSaved } from '#parts/form-values.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { notifySuccess } from '#parts/notify.ts'
import { Card } from '#parts/page.tsx'
import { canAdminister, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { endpointState } from './endpoint-state.ts'

/** A dealer's webhook endpoint: its state, its settings and a test. */
export function EndpointCard({ tenantId, title }: { tenantId: string; title?: string }) {
  const path = `/tenants/${tenantId}/endpoint`
  const { data: endpoint } = useApi<EndpointView>(path)
  if (!endpoint) return null
  const { callbackUrl, eventTypes, eventFormat, enabled, usageThresholds, expiryNoticeHours } = endpoint
  const values = [callbackUrl, eventTypes, eventFormat, enabled, usageThresholds, expiryNoticeHours]
  // Reset only when these values change, so unsaved input survives a test of the endpoint.
  return <EndpointForm key={JSON.stringify(values)} path={path} endpoint={endpoint} {...(title && { title })} />
}

function EndpointForm({ path, endpoint, title }: { path: string; endpoint: EndpointView; title?: string }) {
  const me = useSession()
  const mayEdit = canAdminister(me)
  const save = useChange({ quiet: true })
  const test = useChange({ success: t.endpoint.tested, quiet: true })
  const error = save.error ?? test.error
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const fields = event.currentTarget
    const form = new FormData(fields)
    const url = String(form.get('callbackUrl') ?? '').trim()
    const eventFormat = form.get('eventFormat')
    const body = {
      callbackUrl: url === '' ? null : url,
      eventFormat,
      // Changing the format selects its own events.
      ...(eventFormat === endpoint.eventFormat && { eventTypes: form.getAll('eventTypes') }),
      enabled: form.get('enabled') === 'on',
      usageThresholds: numbersOf(form.get('usageThresholds')),
      expiryNoticeHours: numbersOf(form.get('expiryNoticeHours')),
    }
    test.reset()
    save.mutate(
      { method: 'PUT', path, body },
      {
        onSuccess: () => {
          markSaved(fields)
          notifySuccess(url === '' ? t.endpoint.removed : t.endpoint.saved)
        },
      },
    )
  }
  /** Saving the same URL again is a test: the endpoint must answer a CHECK_HEALTH event, and nothing else changes. */
  function sendTest() {
    save.reset()
    test.mutate({ method: 'PUT', path, body: { callbackUrl: endpoint.callbackUrl, enabled: endpoint.enabled } })
  }
  const state = endpointState(endpoint)
  return (
    <form onSubmit={submit}>
      <Card {...(title && { title })}>
        <Alert color={state.color} py="xs">
          {state.text}
        </Alert>
        {error && <ErrorText>{error.message}</ErrorText>}
        <TextInput
          name="callbackUrl"
          label={t.endpoint.url}
          description={t.endpoint.urlHint}
          defaultValue={endpoint.callbackUrl ?? ''}
          readOnly={!mayEdit}
          type="url"
        />
        <EventFields endpoint={endpoint} mayEdit={mayEdit} />
        {mayEdit && (
          <Group>
            <Button type="submit" loading={save.isPending}>
              {t.endpoint.save}
            </Button>
            {endpoint.callbackUrl && (
              <Button variant="default" loading={test.isPending} onClick={sendTest}>
                {t.endpoint.test}
              </Button>
            )}
          </Group>
        )}
      </Card>
    </form>
  )
}

/** Which events are sent, in which format, and when. */
function EventFields({ endpoint, mayEdit }: { endpoint: EndpointView; mayEdit: boolean }) {
  return (
    <>
      <NativeSelect
        name="eventFormat"
        label={t.endpoint.format}
        description={t.endpoint.formatHint}
        data={EVENT_FORMATS.map((value) => ({ value, label: t.endpoint.formats[value] }))}
        defaultValue={endpoint.eventFormat}
        disabled={!mayEdit}
      />
      <Stack gap="md">
        <Checkbox.Group label={t.endpoint.types} defaultValue={endpoint.eventTypes}>
          <Group mt={4}>
            {(endpoint.eventFormat === 'RT' ? RT_EVENT_TYPES : EVENT_TYPES).map((type) => (
              <Checkbox key={type} name="eventTypes" value={type} label={t.webhooks.types[type]} disabled={!mayEdit} />
            ))}
          </Group>
        </Checkbox.Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            name="usageThresholds"
            label={t.endpoint.usageThresholds}
            description={t.endpoint.usageThresholdsHint}
            defaultValue={endpoint.usageThresholds.join(', ')}
            readOnly={!mayEdit}
          />
          <TextInput
            name="expiryNoticeHours"
            label={t.endpoint.expiryNoticeHours}
            description={t.endpoint.expiryNoticeHoursHint}
            defaultValue={endpoint.expiryNoticeHours.join(', ')}
            readOnly={!mayEdit}
          />
        </SimpleGrid>
        <Switch name="enabled" label={t.endpoint.enabled} defaultChecked={endpoint.enabled} disabled={!mayEdit} />
      </Stack>
    </>
  )
}

/** The numbers in a text, separated by commas or spaces. The gateway refuses anything that is not a number. */
function numbersOf(text: FormDataEntryValue | null): (number | string)[] {
  const parts = String(text ?? '').split(/[\s,]+/)
  return parts.filter((part) => part !== '').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
}
