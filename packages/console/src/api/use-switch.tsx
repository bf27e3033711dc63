import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { notifyError } from '#parts/notify.ts'
import { t } from '#strings/strings.ts'
import { type ApiError, call } from './call-api.ts'
import type { Change } from './use-api.ts'

interface Switch<Data> {
  /** The path that was read with `useApi` and shows the state. */
  shownIn: string
  /** The data in this state. The page shows it until the gateway has answered. */
  show(data: Data, isOn: boolean): Data
  change(isOn: boolean): Change
  success(isOn: boolean): string
}

interface Turn {
  isOn: boolean
  isUndo?: boolean
}

const SWITCHES = ['switch']

/**
 * Something that is on or off. The page shows a change immediately, and again what was before if the gateway refuses it; the message
 * about a change offers to undo it. Only for what its opposite takes back entirely: no money, orders, secrets or people, and nothing
 * that asks for a password.
 */
export function useSwitch<Data>({ shownIn, show, change, success }: Switch<Data>): (isOn: boolean) => void {
  const client = useQueryClient()
  const showNow = (isOn: boolean) =>
    client.setQueriesData<Data>({ queryKey: [shownIn] }, (data) => data && show(data, isOn))
  const { mutate } = useMutation<unknown, ApiError, Turn>({
    mutationKey: SWITCHES,
    // One after the other, so that the last one counts.
    scope: { id: shownIn },
    mutationFn({ isOn }) {
      const { method, path, body } = change(isOn)
      return call(method, path, { body })
    },
    async onMutate({ isOn }) {
      // An answer that is under way would show the old state again.
      await client.cancelQueries({ queryKey: [shownIn] })
      showNow(isOn)
    },
    onSuccess: (_answer, { isOn, isUndo }) =>
      notifyDone(success(isOn), isUndo ? undefined : () => mutate({ isOn: !isOn, isUndo: true })),
    onError(error, { isOn }) {
      showNow(!isOn)
      notifyError(error)
    },
    // Read again when the last one is done: earlier, the page would show the old state for a moment.
    onSettled() {
      if (client.isMutating({ mutationKey: SWITCHES }) === 1) void client.invalidateQueries()
    },
  })
  return (isOn) => mutate({ isOn })
}

/** Enough to read the message and decide. It stays longer under the pointer. */
const UNDO_MS = 10_000

let shown: string | undefined

/** A new message replaces the one before, so only the latest change is offered. */
function notifyDone(message: string, undo: (() => void) | undefined): void {
  if (shown !== undefined) notifications.hide(shown)
  const close = () => void (shown !== undefined && notifications.hide(shown))
  shown = notifications.show({
    message: undo ? <Undoable message={message} undo={undo} close={close} /> : message,
    color: 'teal',
    closeButtonProps: { 'aria-label': t.common.close },
    ...(undo && { autoClose: UNDO_MS }),
  })
}

function Undoable({ message, undo, close }: { message: string; undo(): void; close(): void }) {
  return (
    <Group justify="space-between" wrap="nowrap">
      {message}
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => {
          close()
          undo()
        }}
      >
        {t.common.undo}
      </Button>
    </Group>
  )
}
