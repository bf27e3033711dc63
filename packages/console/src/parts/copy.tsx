import { ActionIcon, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { t } from '../strings/index.ts'

/** What is longer, such as a UUID, is written smaller: then it fits its column. */
const ID_LENGTH = 30

/** A value to take along, with a button that copies it. */
export function Copyable({ value, label, masked }: { value: string; label: string; masked?: boolean }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code className="break" fz={value.length > ID_LENGTH ? 'xs' : 'sm'} data-value={label}>
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
