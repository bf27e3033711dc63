import { ActionIcon, Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconUserCircle } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { LanguageItems, TimeZoneDialog, useLanguageChoice } from '#people/account/language-menu.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { timeZone } from '#strings/zone.ts'
import { signOutHere } from './sign-out.ts'

/** The account menu. A separate chunk, because the first page is drawn without it. */
export default function UserMenu() {
  const me = useSession()
  const navigate = useNavigate()
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const [zoneOpen, setZoneOpen] = useState(false)
  const chooseLanguage = useLanguageChoice()
  return (
    <>
      {zoneOpen && <TimeZoneDialog onClose={() => setZoneOpen(false)} />}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.account.menu}>
            <IconUserCircle size={22} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {me.name} · {t.roles[me.role]}
          </Menu.Label>
          <Menu.Item onClick={() => void navigate({ to: '/account' })}>{t.account.title}</Menu.Item>
          <Menu.Item onClick={() => setColorScheme(isDark ? 'light' : 'dark')}>
            {isDark ? t.common.lightScheme : t.common.darkScheme}
          </Menu.Item>
          <Menu.Divider />
          <LanguageItems onChoose={chooseLanguage} />
          <Menu.Item disabled={me.viewOnly} onClick={() => setZoneOpen(true)}>
            {formatMessage(t.account.timeZoneOf, { zone: timeZone })}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => void signOutHere()}>{t.account.signOut}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
