import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { t } from '#strings/strings.ts'

/** A button that opens the API explorer, for empty lists of orders. */
export function ExplorerButton() {
  return (
    <Button component={Link} to="/explorer" search={{} as never} mt="xs">
      {t.explorer.title}
    </Button>
  )
}
