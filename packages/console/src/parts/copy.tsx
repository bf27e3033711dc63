import { ActionIcon, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { t } from '../strings/index.ts'

/** A value to take along, with a button that copies it. */
export function Copyable({ value, label, masked }: { value: string; label: string; masked?: boolean }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code className="break" fz="sm" data-value={label}>
        {masked ? '••••••••••••••••' : value}
      </Code>
      {!masked && <CopyIcon value={value} label={label} />}
    </Group>
  )
}

export function CopyIcon({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t.common.copied : `${t.common.copy}: ${label}`}>
          <ActionIcon variant="subtle" onClick={copy} aria-label={`${t.common.copy}: ${label}`}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}
