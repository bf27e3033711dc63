import { Alert, Button, Stack, Text } from '@mantine/core'
import { ApiFailure } from '../api.ts'
import { t } from '../strings/index.ts'

/** What happened, in the gateway's own sentence, and a way to try again. */
export function Failure({ error, retry }: { error: Error; retry?: (() => unknown) | undefined }) {
  return (
    <Alert color="red" title={t.errors.title} role="alert" my="md" data-failure>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{error.message}</Text>
        {retry && !isGone(error) && (
          <Button size="xs" variant="default" onClick={() => retry()}>
            {t.common.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

/** What is not there now will not be there at the next try. */
function isGone(error: Error): boolean {
  return error instanceof ApiFailure && error.status === 404
}
