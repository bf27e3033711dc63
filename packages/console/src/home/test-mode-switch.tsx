import { Box, Switch } from '@mantine/core'
import { consoleBase, isTestMode, testBase } from '#api/call-api.ts'
import { itemOf, navigationItems } from '#layout/navigation.ts'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

/** Turns test mode on and off, for a dealer's people. */
export function TestModeSwitch({ path }: { path: string }) {
  const items = navigationItems(useSession())
  return (
    <Switch
      className="test-switch"
      label={
        <>
          <Box component="span" visibleFrom="sm">
            {t.testMode.label}
          </Box>
          <Box component="span" hiddenFrom="sm">
            {t.testMode.short}
          </Box>
        </>
      }
      color="orange"
      checked={isTestMode}
      onChange={() => switchMode(otherModePath(path, items))}
    />
  )
}

/** Loads another page, which clears from memory what was read in this mode. */
export function switchMode(path: string): void {
  location.assign(new URL(path.replace(/^\//, ''), isTestMode ? consoleBase : testBase))
}

/** A record of one mode does not exist in the other: its list is shown instead. */
export function otherModePath(path: string, items: ReturnType<typeof navigationItems>): string {
  const item = itemOf(path, items)
  const pages = item ? [item, ...(item.tabs ?? [])] : []
  return pages.some(({ to }) => to === path) ? path : (item?.to ?? '/')
}
