import { Anchor, Group } from '@mantine/core'
import { IconBook } from '@tabler/icons-react'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** A link to a section of the documentation that the gateway serves, such as `webhooks#send-again`. */
export function DocsLink({ to, subject }: { to: string; subject: string }) {
  const me = useSession()
  return (
    <Anchor
      href={`${me.publicUrl}/docs/${to}`}
      target="_blank"
      rel="noopener"
      size="sm"
      aria-label={formatMessage(t.common.docsAbout, { subject })}
    >
      <Group gap={4} component="span" display="inline-flex">
        <IconBook size={16} aria-hidden="true" />
        {t.common.docs}
      </Group>
    </Anchor>
  )
}
