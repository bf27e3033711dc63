import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

/** A button that opens the order form, for a dealer's people only: operators do not buy. */
export function BuyButton({ size = 'xs' }: { size?: 'xs' | 'sm' }) {
  if (isOperator(useSession())) return null
  return (
    <Button component={Link} to="/buy" search={{} as never} size={size}>
      {t.portal.title}
    </Button>
  )
}
