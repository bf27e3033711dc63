import { ActionIcon, Tooltip } from '@mantine/core'
import { IconBook } from '@tabler/icons-react'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** A link to a section of the documentation that the gateway serves, such as `webhooks#send-again`. */
export function DocsLink({ to, subject }: { to: string; subject: string }) {
  const me = useSession()
  return (
    <Tooltip label={t.common.docs}>
      <ActionIcon
        component="a"
        href={`${me.publicUrl}/docs/${to}`}
        target="_blank"
        rel="noopener"
        variant="subtle"
        color="gray"
        size={32}
        aria-label={formatMessage(t.common.docsAbout, { subject })}
      >
        <IconBook size={18} aria-hidden="true" />
      </ActionIcon>
    </Tooltip>
  )
}
