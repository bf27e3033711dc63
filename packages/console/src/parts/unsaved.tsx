import { Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { t } from '#strings/strings.ts'
import { Dialog } from './dialog.tsx'
import { isChanged } from './form-values.ts'

/**
 * Asks before leaving a page with unsaved input in its forms. `changed` is for a form that keeps its input itself instead
 * of in its elements.
 */
export function UnsavedWarning({ changed, children }: { changed?: boolean; children: ReactNode }) {
  const area = useRef<HTMLDivElement>(null)
  const hasInput = () => changed ?? [...(area.current?.querySelectorAll('form') ?? [])].some(isChanged)
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && hasInput(),
    enableBeforeUnload: hasInput,
    withResolver: true,
  })
  return (
    <>
      <div ref={area}>{children}</div>
      <Dialog
        title={t.common.unsaved}
        opened={blocker.status === 'blocked'}
        onClose={() => blocker.reset?.()}
        closing={t.common.stay}
        submit={t.common.leave}
        danger
        onSubmit={() => blocker.proceed?.()}
      >
        <Text size="sm">{t.common.unsavedText}</Text>
      </Dialog>
    </>
  )
}
