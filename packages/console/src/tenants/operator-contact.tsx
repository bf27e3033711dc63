import type { OperatorContactView } from '@dealer-esim/gateway/http/console/operations/operator-settings.ts'
import { Anchor, Button, Group, Text, Textarea } from '@mantine/core'
import { IconClock, IconMail, IconPhone } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { canEdit, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** Whom a dealer asks. `isReachable`: there is an address or a number besides the console. */
export function useOperator() {
  const { data } = useApi<OperatorContactView>('/operator-contact')
  if (!data) return undefined
  const name = data.name ?? data.legalName ?? t.contact.operator
  return { name, isReachable: data.email !== null || data.phone !== null, contact: data }
}

/** The address, the number and the hours of the operator. Nothing where it has entered none. */
export function ContactLines() {
  const operator = useOperator()
  if (!operator) return null
  const { email, phone, hours } = operator.contact
  // An empty line would still keep the space around it.
  if (!email && !phone && !hours) return null
  return (
    <Group gap="4px 16px" data-contact>
      {email && (
        <Line Icon={IconMail}>
          <Anchor href={`mailto:${email}`} size="sm" className="break">
            {email}
          </Anchor>
        </Line>
      )}
      {phone && (
        <Line Icon={IconPhone}>
          <Anchor href={`tel:${phone.replaceAll(/[^\d+]/g, '')}`} size="sm">
            {phone}
          </Anchor>
        </Line>
      )}
      {hours && <Line Icon={IconClock}>{hours}</Line>}
    </Group>
  )
}

function Line({ Icon, children }: { Icon: typeof IconMail; children: ReactNode }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Icon size={16} aria-hidden="true" />
      <Text size="sm" component="div">
        {children}
      </Text>
    </Group>
  )
}

/** A sentence that says who answers a dealer's question, and how else to ask. */
export function OperatorAnswers() {
  const operator = useOperator()
  if (!operator?.isReachable) return null
  return (
    <div>
      {formatMessage(t.contact.answers, { name: operator.name })}
      <ContactLines />
    </div>
  )
}

/** The operator on a dealer's home page. */
export default function OperatorCard() {
  const operator = useOperator()
  const me = useSession()
  if (!operator || !me.tenant) return null
  return (
    <Card
      title={operator.isReachable ? formatMessage(t.contact.helps, { name: operator.name }) : t.contact.questions}
      actions={canEdit(me) && <AskOperator path={`/tenants/${me.tenant.tenantId}/questions`} isQuiet />}
    >
      {!operator.isReachable && <Hint>{formatMessage(t.contact.answersByMail, { name: operator.name })}</Hint>}
      <ContactLines />
    </Card>
  )
}

interface AskOperatorProps {
  path: string
  /** What the question is about. */
  children?: ReactNode
  hint?: string
  /** What is probably asked; it can be changed. */
  text?: string
  isQuiet?: boolean
}

/**
 * Sends the operator a question: a note with an alert. The dialog says whom it reaches, and where the answer comes. The operator is
 * not asked about a test twin.
 */
export function AskOperator(props: AskOperatorProps) {
  return isTestMode ? null : <Ask {...props} />
}

function Ask({ path, children, hint, text, isQuiet = false }: AskOperatorProps) {
  const [opened, setOpened] = useState(false)
  const operator = useOperator()
  const { email } = useSession()
  const name = operator?.name ?? t.contact.operator
  return (
    <>
      <Button {...(isQuiet && { variant: 'default', size: 'xs' })} onClick={() => setOpened(true)}>
        {t.contact.ask}
      </Button>
      {opened && (
        <ChangeDialog
          title={t.contact.ask}
          onClose={() => setOpened(false)}
          submit={t.contact.send}
          success={formatMessage(t.contact.sent, { name })}
          request={(body) => ({ method: 'POST', path, body })}
        >
          <Text size="sm" className="break">
            {children}
          </Text>
          <Textarea
            name="text"
            label={t.contact.question}
            description={hint}
            defaultValue={text}
            required
            maxLength={2_000}
            autosize
            minRows={3}
            data-autofocus
          />
          <Hint>{formatMessage(t.contact.goesTo, { name, email })}</Hint>
          <ContactLines />
        </ChangeDialog>
      )}
    </>
  )
}
