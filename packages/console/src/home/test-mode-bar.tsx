import { Button, Group, Text } from '@mantine/core'
import { IconFlask } from '@tabler/icons-react'
import { navigationItems } from '#layout/navigation.ts'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { otherModePath, switchMode } from './test-mode-switch.tsx'

/** Marks every page while it shows the test twin. */
export default function TestModeBar({ path }: { path: string }) {
  const items = navigationItems(useSession())
  return (
    <Group className="dealer-view" role="status" justify="space-between" wrap="nowrap" gap="sm" px="md" py={6} mb="md">
      <Group gap="xs" wrap="nowrap">
        <IconFlask size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
        <Text size="sm">
          <b>{t.testMode.bar}</b>{' '}
          <Text component="span" inherit visibleFrom="sm">
            {t.testMode.barText}
          </Text>
        </Text>
      </Group>
      <Button size="xs" variant="default" onClick={() => switchMode(otherModePath(path, items))} miw="max-content">
        {t.testMode.end}
      </Button>
    </Group>
  )
}
