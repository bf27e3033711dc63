import type { SearchResults } from '@dealer-esim/gateway/http/console/home/search.ts'
import { Kbd, Modal, NavLink, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { useReturnFocus } from '#parts/dialog.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { commandsFor } from './commands.ts'

/** Commands fill the list up to this. Search results are listed in full: many dealers may have an order #1042. */
const RESULTS_MAX = 10

/** Searches pages, actions, and everything that has its own page. Arrow keys select a result, Enter opens it. */
export default function Finder({ onClose }: { onClose(): void }) {
  return (
    <Modal.Root opened onClose={onClose} padding="sm" yOffset="12vh" centered={false}>
      <Modal.Overlay />
      <Modal.Content aria-label={t.finder.label}>
        <Modal.Body>
          <Search onClose={onClose} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

function Search({ onClose }: { onClose(): void }) {
  useReturnFocus(true)
  const me = useSession()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [query] = useDebouncedValue(text.trim(), 200)
  const found = useApi<SearchResults>('/search', { q: query }, { enabled: query.length >= 2 })
  const words = text.trim().toLowerCase().split(/\s+/)
  const commands = commandsFor(me).filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  // Never results for an earlier text: Enter would open one of them.
  const isCurrent = query.length >= 2 && query === text.trim() && !found.isPlaceholderData
  const records = isCurrent ? (found.data?.results ?? []) : []
  const results = [
    ...records,
    ...commands.slice(0, Math.max(0, RESULTS_MAX - records.length)).map((command) => ({ ...command, detail: '' })),
  ]
  const go = (to: string | undefined) => {
    if (to === undefined) return
    onClose()
    const [path, search = ''] = to.split('?')
    void navigate({ to: path as string, search: Object.fromEntries(new URLSearchParams(search)) as never })
  }
  function onKey(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      event.preventDefault()
      setAt((at + step + results.length) % Math.max(results.length, 1))
    }
    if (event.key === 'Enter') go(results[at]?.to)
  }
  return (
    <Stack gap="xs">
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        leftSection={<IconSearch size={18} />}
        aria-label={t.finder.label}
        placeholder={isOperator(me) ? t.finder.hint : t.finder.hintForDealer}
        value={text}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
      />
      {results.map((result, index) => (
        <NavLink
          key={result.to + result.label}
          component="button"
          label={result.label}
          description={result.detail || undefined}
          rightSection={<Text size="xs">{t.finder.kinds[result.kind]}</Text>}
          active={index === at}
          onClick={() => go(result.to)}
        />
      ))}
      {results.length === 0 && (
        <Text size="sm" c="dimmed" p="xs">
          {t.finder.noResults}
        </Text>
      )}
      <Hint size="xs">
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> <Kbd size="xs">{t.finder.enter}</Kbd> {t.finder.keysHint}
      </Hint>
    </Stack>
  )
}
