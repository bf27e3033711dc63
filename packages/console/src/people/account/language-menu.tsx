import type { PersonLocale } from '@dealer-esim/gateway/people/account/locale.ts'
import { Menu, Select } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { useChange } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { rememberReader } from '#strings/reader.ts'
import { formatMessage, language, languages, nameOfLanguage, t } from '#strings/strings.ts'
import { timeZone } from '#strings/zone.ts'
import { useSession } from '../sign-in/session.ts'

/**
 * Saves a language, then loads the page again, because modules read texts when they are loaded. For a component that outlives the menu:
 * what is to happen afterwards is forgotten with the component.
 */
export function useLanguageChoice(): (chosen: string) => void {
  const me = useSession()
  const save = useChange()
  return (chosen) => {
    const locale: PersonLocale = { language: chosen, timeZone: me.timeZone }
    save.mutate({ method: 'PUT', path: '/account/locale', body: locale }, { onSuccess: () => showIn(locale) })
  }
}

/** The languages in the account menu, each by its own name. */
export function LanguageItems({ onChoose }: { onChoose(chosen: string): void }) {
  const me = useSession()
  return (
    <>
      <Menu.Label>{t.account.language}</Menu.Label>
      {languages.map((tag) => (
        <Menu.Item
          key={tag}
          lang={tag}
          aria-current={tag === language}
          disabled={me.viewOnly}
          rightSection={tag === language && <IconCheck size={14} aria-hidden="true" />}
          onClick={() => onChoose(tag)}
        >
          {nameOfLanguage(tag)}
        </Menu.Item>
      ))}
    </>
  )
}

export function TimeZoneDialog({ onClose }: { onClose(): void }) {
  const me = useSession()
  const browsers = formatMessage(t.account.browserTimeZone, {
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })
  const localeOf = ({ timeZone: zone }: Record<string, string>): PersonLocale => ({
    language: me.language,
    timeZone: zone || null,
  })
  return (
    <ChangeDialog
      title={t.account.timeZone}
      submit={t.common.save}
      onClose={onClose}
      request={(fields) => ({ method: 'PUT', path: '/account/locale', body: localeOf(fields) })}
      onDone={(_answer, fields) => showIn(localeOf(fields))}
    >
      <Select
        name="timeZone"
        label={t.account.timeZone}
        description={t.account.timeZoneText}
        data={[{ value: '', label: browsers }, ...zones()]}
        defaultValue={me.timeZone === null ? '' : timeZone}
        allowDeselect={false}
        searchable
        data-autofocus
      />
    </ChangeDialog>
  )
}

/** Browsers leave out UTC. */
function zones(): string[] {
  return [...new Set(['UTC', timeZone, ...Intl.supportedValuesOf('timeZone')])].sort()
}

function showIn(locale: PersonLocale): void {
  rememberReader({ ...locale, language: locale.language ?? language })
  location.reload()
}
