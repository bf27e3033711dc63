import { ActionIcon, Anchor, Box, Code, CopyButton, Group, SimpleGrid, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { createContext, type ReactNode, useContext } from 'react'
import { formatMessage, t } from '#strings/strings.ts'
import { timeZone } from '#strings/zone.ts'
import { formatClock, formatDateTime, formatRelativeTime, formatTime, formatTimeExactly, moneyParts } from './format.ts'

const TIME_FORMATS = { short: formatTime, relative: formatRelativeTime, exact: formatTimeExactly, clock: formatClock }

/** A time: short, relative, to the millisecond, or without its day. The full time is shown on hover and on a tap. */
export function Timestamp(props: { time: string | null | undefined; format?: keyof typeof TIME_FORMATS }) {
  const { time, format = 'short' } = props
  if (!time) return <>–</>
  const write = TIME_FORMATS[format]
  const full = format === 'clock' ? formatTimeExactly : formatDateTime
  return (
    <Tooltip label={full(time)} events={{ hover: true, focus: false, touch: true }}>
      <time dateTime={time}>{write(time)}</time>
    </Tooltip>
  )
}

/** States the time zone of the times next to it. */
export function TimeZone() {
  return (
    <Text size="sm" c="dimmed" data-zone>
      {formatMessage(t.lists.timesIn, { zone: timeZone })}
    </Text>
  )
}

const InHeader = createContext<string | undefined>(undefined)

/** The currency in the header of a column: its amounts omit it while the header is visible. */
export const ColumnCurrency = InHeader.Provider

/** Money with its currency. Negative amounts are highlighted. */
export function Amount({ value, currency, signed }: { value: number | null; currency: string; signed?: boolean }) {
  const inHeader = useContext(InHeader)
  if (value === null) return <>–</>
  const parts = moneyParts(value, currency)
  const sign = signed && value > 0 ? '+' : ''
  return (
    <span className="amount" data-negative={value < 0 || undefined} data-in-header={inHeader === currency || undefined}>
      {sign}
      {parts.map(({ text, isCode }) =>
        isCode ? (
          <span key={text} className="currency">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </span>
  )
}

/** How a status looks. Finished and ongoing states are inconspicuous; a pill means that somebody should look. */
const TONES: Record<string, StatusTone> = {
  ...toneOf('ok', 'ACTIVE', 'ON_SALE', 'DELIVERED', 'IN_USE', 'ENABLED', 'APPROVED', 'DONE', 'ACKNOWLEDGED'),
  ...toneOf('busy', 'ALLOCATING', 'PENDING', 'RUNNING', 'GOT_RESOURCE', 'DOWNLOAD', 'INSTALLATION', 'INVITED'),
  ...toneOf('warn', 'RETRYING', 'PARTIALLY_DELIVERED', 'UNDER_REVIEW', 'REVIEW', 'PROPOSED', 'REQUESTED', 'PAUSED'),
  ...toneOf('warn', 'UNKNOWN', 'NO_MONEY'),
  ...toneOf('bad', 'FAILED', 'REFUSED', 'REJECTED', 'DEAD', 'SUSPENDED', 'DISABLED', 'REVOKED', 'DECLINED'),
}

export type StatusTone = 'ok' | 'busy' | 'off' | 'warn' | 'bad'

function toneOf(tone: StatusTone, ...statuses: string[]): Record<string, StatusTone> {
  return Object.fromEntries(statuses.map((status) => [status, tone]))
}

/** A state in a word: a dot for a quiet one, a pill for one that needs attention. Colours never replace the word. */
export function StatusMark({ tone, children }: { tone: StatusTone; children: ReactNode }) {
  return (
    <span className="status" data-tone={tone}>
      {children}
    </span>
  )
}

/** `labels`: for statuses with unusual names. */
export function Status({
  status,
  labels = t.statuses,
}: {
  status: string | null | undefined
  labels?: Record<string, string>
}) {
  if (!status) return <>–</>
  return (
    <span className="status" data-tone={toneFor(status)} data-status={status}>
      {labels[status] ?? status}
    </span>
  )
}

/** PAID is the last status of a top-up request and the first of an order. Neither needs attention. */
function toneFor(status: string): StatusTone {
  return TONES[status] ?? (status === 'PAID' ? 'busy' : 'off')
}

/**
 * The status of a row on a phone, where buttons stand in other rows. It carries no `data-status`, because the column with the status
 * has it.
 */
export function PhoneStatus({ status }: { status: keyof typeof t.statuses }) {
  return (
    <Box hiddenFrom="sm">
      <StatusMark tone={toneFor(status)}>{t.statuses[status]}</StatusMark>
    </Box>
  )
}

/** Grey text that explains the purpose of a field or a card. */
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
          <ActionIcon variant="subtle" color="gray" data-copy onClick={copy} aria-label={`${t.common.copy}: ${label}`}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** Names and values in columns; on a phone names on the left and values on the right. */
export function Facts({ items, cols = 3 }: { items: [name: string, value: ReactNode][]; cols?: number }) {
  return (
    <SimpleGrid
      component="dl"
      className="facts"
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

/** Identifiers that only programs read, each with a copy button. Collapsed by default. */
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
