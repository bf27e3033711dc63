import type { OperationName } from '@dealer-esim/contract'
import { Alert, Text } from '@mantine/core'
import { CodeBlock } from '#code/code-block.tsx'
import { formatDuration } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import type { CallResponse, SignedCall } from './signed-call.ts'
import { curlCommand } from './snippets.ts'

export interface SentRequest {
  operation: OperationName
  call: SignedCall
  answer?: CallResponse
  error?: string
}

/** Shows the gateway's answer, and how the request was signed. */
export function Answer({ sent: { operation, call, answer, error } }: { sent: SentRequest }) {
  const me = useSession()
  return (
    <Card
      title={t.explorer.response}
      actions={
        answer && (
          <Text size="sm" data-answer={answer.status}>
            {formatMessage(t.explorer.responseStatus, {
              status: answer.status,
              time: formatDuration(answer.durationMs),
            })}
          </Text>
        )
      }
    >
      {error && <Alert color="red">{formatMessage(t.explorer.cannotSend, { reason: error })}</Alert>}
      {answer && <CodeBlock label={t.explorer.responseBody} text={answer.text} language="json" />}
      <details>
        <summary>{t.explorer.howSigned}</summary>
        <CodeBlock label={t.explorer.stringToSign} text={call.stringToSign} language="headers" />
        <CodeBlock label={t.explorer.signature} text={call.signature} language="headers" />
        <CodeBlock label={t.explorer.curl} text={curlCommand(me.publicUrl, operation, call)} language="shell" />
      </details>
    </Card>
  )
}
