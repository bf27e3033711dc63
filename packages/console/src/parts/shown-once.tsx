import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { type MouseEvent, type ReactNode, useState } from 'react'
import { saveFile } from '#api/download.ts'
import { t } from '#strings/strings.ts'
import { Dialog } from './dialog.tsx'

interface ShownOnceProps {
  title: string
  opened?: boolean
  onClose(): void
  /** The button that says that the value is safe. */
  submit: string
  /** The name and content of the text file to download. */
  file: { name: string; text: string }
  children: ReactNode
}

/**
 * Shows what cannot be shown again. There is nothing left to cancel, so the dialog has no such button; closing it before
 * the value was copied or downloaded asks first.
 */
export function ShownOnce({ title, opened = true, onClose, submit, file, children }: ShownOnceProps) {
  const [isKept, setIsKept] = useState(false)
  const [isAsking, setIsAsking] = useState(false)
  const close = () => (isKept ? onClose() : setIsAsking(true))
  function noticeCopying(event: MouseEvent) {
    if (event.target instanceof Element && event.target.closest('[data-copy]')) setIsKept(true)
  }
  return (
    <Dialog title={title} opened={opened} onClose={close} submit={submit} onSubmit={onClose} hasCancel={false}>
      <div onClickCapture={noticeCopying} onCopy={() => setIsKept(true)}>
        <Stack gap="md">
          {children}
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconDownload size={16} />}
              onClick={() => {
                saveFile(file.name, `${file.text}\n`, 'text/plain')
                setIsKept(true)
              }}
            >
              {t.common.downloadText}
            </Button>
          </Group>
        </Stack>
      </div>
      {isAsking && !isKept && (
        <Alert color="red" role="alert" title={t.common.notCopied}>
          <Stack gap="xs" align="flex-start">
            <Text size="sm">{t.common.notCopiedText}</Text>
            <Button size="xs" color="red" onClick={onClose}>
              {t.common.closeWithoutCopying}
            </Button>
          </Stack>
        </Alert>
      )}
    </Dialog>
  )
}
