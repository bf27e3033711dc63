import { ActionIcon, Button, Menu } from '@mantine/core'
import {
  IconAlertTriangle,
  IconChevronDown,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconDots,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { StatusTone } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

const ICONS: Record<StatusTone, typeof IconClock> = {
  ok: IconCircleCheck,
  busy: IconClock,
  off: IconCircleDashed,
  warn: IconAlertTriangle,
  bad: IconCircleX,
}

/** The head of a record: what has happened, what comes next, and the one action for it. */
export function StateSentence(props: {
  tone: StatusTone
  title: ReactNode
  text?: ReactNode
  actions?: ReactNode
  /** Tests and styles find it by this name. */
  waiting?: string
}) {
  const { tone, title, text, actions, waiting } = props
  const Icon = ICONS[tone]
  return (
    <section className="state" data-tone={tone} data-waiting={waiting}>
      <Icon size={22} aria-hidden="true" />
      <div className="state-text">
        <p>{title}</p>
        {text && <div>{text}</div>}
      </div>
      {actions && <div className="state-actions">{actions}</div>}
    </section>
  )
}

/**
 * The main content, with a rail of facts, people and money beside it. On a phone, the rail comes below.
 * @param last long content of the main column, which comes below the rail on a phone
 */
export function Record({ children, rail, last }: { children: ReactNode; rail: ReactNode; last?: ReactNode }) {
  return (
    <div className="record">
      <div className="record-main">{children}</div>
      <div className="record-rail">{rail}</div>
      {last && <div className="record-main">{last}</div>}
    </div>
  )
}

export interface MoreAction {
  label: string
  isDangerous?: boolean
  disabled?: boolean
  /** Downloads this file. */
  file?: string
  onClick?(): void
}

/**
 * A record's rare or dangerous actions.
 * @param of for the actions of a row: its name, for screen readers
 */
export function MoreMenu({ actions, of }: { actions: readonly MoreAction[]; of?: string }) {
  if (actions.length === 0) return null
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        {of === undefined ? (
          <Button variant="default" rightSection={<IconChevronDown size={16} aria-hidden="true" />}>
            {t.common.more}
          </Button>
        ) : (
          <ActionIcon variant="subtle" color="gray" aria-label={`${t.common.actions}: ${of}`}>
            <IconDots size={18} />
          </ActionIcon>
        )}
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, isDangerous, disabled = false, file, onClick }) =>
          file !== undefined ? (
            <Menu.Item key={label} component="a" href={file} download>
              {label}
            </Menu.Item>
          ) : (
            // After the menu has returned the focus, so that a dialog returns it to the menu.
            <Menu.Item
              key={label}
              disabled={disabled}
              {...(isDangerous && { c: 'var(--bad)' })}
              onClick={() => setTimeout(() => onClick?.())}
            >
              {label}
            </Menu.Item>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
