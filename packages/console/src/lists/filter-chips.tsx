import { Button, CloseButton, Group, Menu, Popover, UnstyledButton } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useFilters } from '#parts/use-filters.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** One filter of a list. Its chip is shown while it is set, or while somebody chooses its value. */
export interface Filter {
  /** Its parameter in the URL. */
  name: string
  label: string
  /** Further parameters that are removed with it. */
  names?: readonly string[]
  /** The selection in words; undefined if nothing is selected. */
  text: string | undefined
  field: ReactNode
}

/** The active filters, as chips that change or remove them, and a menu of the others. */
export function FilterChips({ filters }: { filters: readonly Filter[] }) {
  const [opened, setOpened] = useState<string>()
  const chips = useRef<HTMLDivElement>(null)
  const shown = filters.filter(({ name, text }) => text !== undefined || name === opened)
  const others = filters.filter((filter) => !shown.includes(filter))
  const chosen = filters.map(({ text = '' }) => text).join('\n')
  const close = () => {
    setOpened(undefined)
    setTimeout(() => returnFocus(chips.current, opened))
  }
  // A choice closes the field. A text is a choice only once the person says so.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice was made
  useEffect(() => {
    if (opened !== undefined && !(document.activeElement instanceof HTMLInputElement)) close()
  }, [chosen])
  return (
    <Group ref={chips} className="chips" gap="xs" wrap="nowrap">
      {shown.map((filter) => (
        <Chip
          key={filter.name}
          filter={filter}
          isOpen={opened === filter.name}
          onOpen={() => setOpened(filter.name)}
          onClose={close}
        />
      ))}
      {others.length > 0 && (
        <Menu position="bottom-start" withinPortal>
          <Menu.Target>
            <UnstyledButton className="chip" data-add>
              <IconPlus size={16} aria-hidden="true" />
              {t.lists.addFilter}
            </UnstyledButton>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map(({ name, label }) => (
              // After the menu has returned the focus.
              <Menu.Item key={name} onClick={() => setTimeout(() => setOpened(name))}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  )
}

/** The focus moves to the filter's chip, or to the button that adds one. */
function returnFocus(chips: HTMLElement | null, name: string | undefined): void {
  if (document.activeElement !== document.body) return
  const chip = chips?.querySelector(`[data-filter="${name}"]`)?.querySelector('button')
  const next = chip ?? chips?.querySelector<HTMLElement>('[data-add]')
  next?.focus()
}

function Chip(props: { filter: Filter; isOpen: boolean; onOpen(): void; onClose(): void }) {
  const { filter, isOpen, onOpen, onClose } = props
  const { name, names = [], label, text, field } = filter
  const [, setFilters] = useFilters()
  const remove = () => {
    setFilters(Object.fromEntries([name, ...names].map((one) => [one, null])))
    onClose()
  }
  return (
    <Popover
      opened={isOpen}
      onChange={(open) => (open ? onOpen() : onClose())}
      trapFocus
      withinPortal
      withRoles={false}
    >
      <Popover.Target>
        <span className="chip" data-filter={name} data-set={text !== undefined || undefined}>
          <UnstyledButton onClick={isOpen ? onClose : onOpen} aria-haspopup="dialog" aria-expanded={isOpen}>
            {text === undefined ? label : `${label}: ${text}`}
          </UnstyledButton>
          <CloseButton size="xs" aria-label={formatMessage(t.lists.removeFilter, { filter: label })} onClick={remove} />
        </span>
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={label}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            onClose()
          }}
        >
          <Group gap="xs" align="flex-end">
            {field}
            <Button type="submit" variant="default">
              {t.lists.bulk.done}
            </Button>
          </Group>
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}
