import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { t } from '../strings/index.ts'
import { Empty } from './empty.tsx'

export function NotFound() {
  return (
    <Empty
      title={t.errors.notFound}
      text={t.errors.notFoundText}
      action={
        <Anchor component={Link} to="/">
          {t.errors.home}
        </Anchor>
      }
    />
  )
}
