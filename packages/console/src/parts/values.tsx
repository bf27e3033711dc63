import { ActionIcon, Anchor, Badge, Code, CopyButton, Group, SimpleGrid, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { interpolate, t } from '#strings/strings.ts'
import {
  formatDateTime,
  formatMoney,
  formatRelativeTime,
  formatTime,
  formatTimeExactly,
  timeZoneName,
} from './format.ts'

/** A time: short, relative, or to the millisecond. The full time is shown on hover. */
export function Timestamp(props: { time: string | null | undefined; format?: 'relative' | 'exact' }) {
  const { time, format } = props
  if (!time) return <>–</>
  const write = format === undefined ? formatTime : { relative: formatRelativeTime, exact: formatTimeExactly }[format]
  return (
    <Tooltip label={formatDateTime(time)}>
      <time dateTime={time}>{write(time)}</time>
    </Tooltip>
  )
}

/** Says in which time zone the times next to it are. */
export function TimeZone() {
  return (
    <Text size="sm" c="dimmed" data-zone>
      {interpolate(t.lists.timesIn, { zone: timeZoneName() })}
    </Text>
  )
}

/** Money with its currency. Negative amounts are highlighted. */
export function Amount({ value, currency, signed }: { value: number | null; currency: string; signed?: boolean }) {
  if (value === null) return <>–</>
  const text = formatMoney(value, currency)
  if (value < 0) return <span className="negative">{text}</span>
  return <>{signed && value > 0 ? `+${text}` : text}</>
}

/** Colours support the labels and never replace them. */
const COLORS: Record<string, string> = {
  ACTIVE: 'teal',
  ON_SALE: 'teal',
  DELIVERED: 'teal',
  IN_USE: 'teal',
  ENABLED: 'teal',
  APPROVED: 'teal',
  DONE: 'teal',
  ACKNOWLEDGED: 'teal',
  PAID: 'blue',
  ALLOCATING: 'blue',
  PENDING: 'blue',
  RETRYING: 'orange',
  RUNNING: 'blue',
  GOT_RESOURCE: 'blue',
  DOWNLOAD: 'blue',
  INSTALLATION: 'blue',
  RELEASED: 'gray',
  PARTIALLY_DELIVERED: 'yellow',
  UNDER_REVIEW: 'orange',
  REVIEW: 'orange',
  PROPOSED: 'orange',
  REQUESTED: 'orange',
  DECLINED: 'red',
  PAUSED: 'orange',
  INVITED: 'blue',
  FAILED: 'red',
  REFUSED: 'red',
  REJECTED: 'red',
  DEAD: 'red',
  SUSPENDED: 'red',
  DISABLED: 'red',
  REVOKED: 'red',
}

/** `labels` if the statuses have other names than usual. */
export function Status({
  status,
  labels = t.statuses,
}: {
  status: string | null | undefined
  labels?: Record<string, string>
}) {
  if (!status) return <>–</>
  return (
    <Badge variant="light" color={COLORS[status] ?? 'gray'} tt="none" radius="sm" data-status={status}>
      {labels[status] ?? status}
    </Badge>
  )
}

/** A text in grey: what a field or a card is for. */
export function Hint({ size = 'sm', children }: { size?: 'xs' | 'sm'; children: ReactNode }) {
  return (
    <Text size={size} c="dimmed">
      {children}
    </Text>
  )
}

/** A link to another page of the console. */
export function TextLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  )
}

/** Longer values, such as UUIDs, use a smaller font to fit their column. */
const ID_LENGTH = 30

/** A value with a copy button. */
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
          <ActionIcon variant="subtle" data-copy onClick={copy} aria-label={`${t.common.copy}: ${label}`}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** Names and values in columns, or in one column on a phone. */
export function Facts({ items, cols = 3 }: { items: [name: string, value: ReactNode][]; cols?: number }) {
  return (
    <SimpleGrid
      component="dl"
      m={0}
      spacing="md"
      verticalSpacing="xs"
      cols={{ base: 1, sm: Math.min(cols, 2), md: cols }}
    >
      {items.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="break">
            {value === null || value === undefined || value === '' ? '–' : value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  )
}

/** Numbers that only programs read, each with a button that copies it. Closed until somebody asks for them. */
export function TechnicalDetails({ items }: { items: [name: string, value: string | null][] }) {
  const known = items.filter((item): item is [string, string] => item[1] !== null && item[1] !== '')
  return (
    <details className="technical">
      <summary>{t.common.technicalDetails}</summary>
      <Facts
        cols={2}
        items={known.map(([name, value]) => [name, <Copyable key={name} value={value} label={name} />])}
      />
    </details>
  )
}
