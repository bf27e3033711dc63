import { Anchor, Paper } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { t } from '../strings/index.ts'
import { Empty } from './empty.tsx'
import { Page } from './page.tsx'

/** At an address that no page has; the navigation stays. */
export function NotFound() {
  return (
    <Page title={t.errors.notFound}>
      <Paper withBorder>
        <Empty
          title={t.errors.notFoundText}
          action={
            <Anchor component={Link} to="/">
              {t.errors.home}
            </Anchor>
          }
        />
      </Paper>
    </Page>
  )
}
