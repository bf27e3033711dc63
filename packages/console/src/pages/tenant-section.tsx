import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { Page } from '../parts/page.tsx'
import { isOperator, useSession } from '../session.tsx'

/** A section of a dealer: a tab to operators, a page of its own to the dealer's people. */
export function TenantSection(props: { title: string; text?: string; actions?: ReactNode; children: ReactNode }) {
  const me = useSession()
  if (!isOperator(me))
    return (
      <Page title={props.title} description={props.text} actions={props.actions}>
        {props.children}
      </Page>
    )
  return <Stack gap="md">{props.children}</Stack>
}
