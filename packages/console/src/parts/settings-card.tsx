import { Button, Group } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useChange } from '#api/use-api.ts'
import { canAdminister, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { fieldErrors, formFields, markSaved } from './form-values.ts'
import { notifyError } from './notify.ts'
import { Card } from './page.tsx'

/**
 * A card whose fields are saved together. Its button is filled once a field is changed: several cards share a page. `parse` returns the
 * request body, or an error for each invalid field.
 */
export function SettingsCard(props: {
  title: string
  saveTo: { method: 'PATCH' | 'PUT'; path: string }
  /** By default, administrators may edit. */
  mayEdit?: boolean
  parse(fields: Record<string, string>): { body: Record<string, unknown> } | { errors: Record<string, string> }
  children(errors: Record<string, string>): ReactNode
}) {
  const me = useSession()
  const save = useChange({ success: t.common.saved, quiet: true })
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [changed, setChanged] = useState(false)
  /** Errors from the gateway are shown at the fields to correct. */
  function showError(error: ApiError) {
    const found = fieldErrors(error)
    if (Object.keys(found).length > 0) setErrors(found)
    else notifyError(error)
  }
  function saved(form: HTMLFormElement) {
    markSaved(form)
    setChanged(false)
  }
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const read = props.parse(formFields(form))
    setErrors('errors' in read ? read.errors : {})
    if ('errors' in read) return
    save.mutate({ ...props.saveTo, body: read.body }, { onSuccess: () => saved(form), onError: showError })
  }
  return (
    <form onSubmit={submit} onInput={() => setChanged(true)}>
      <Card title={props.title}>
        {props.children(errors)}
        {(props.mayEdit ?? canAdminister(me)) && (
          <Group>
            <Button type="submit" variant={changed ? 'filled' : 'default'} loading={save.isPending}>
              {t.common.save}
            </Button>
          </Group>
        )}
      </Card>
    </form>
  )
}
