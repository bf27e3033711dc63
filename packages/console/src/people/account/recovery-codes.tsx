import { Code, SimpleGrid, Stack, Text } from '@mantine/core'
import { ShownOnce } from '#parts/dialog.tsx'
import { CopyIcon } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

/** Shows the recovery codes after the first second factor has been set up. They cannot be shown again. */
export function ShowRecoveryCodes({ codes, onClose }: { codes: string[]; onClose(): void }) {
  return (
    <ShownOnce
      title={t.account.recoveryCodes}
      onClose={onClose}
      submit={t.account.recoverySaved}
      file={{ name: 'recovery-codes.txt', text: codes.join('\n') }}
    >
      <Stack>
        <Text size="sm">{t.account.recoveryText}</Text>
        <SimpleGrid cols={2} spacing="xs">
          {codes.map((code) => (
            <Code key={code}>{code}</Code>
          ))}
        </SimpleGrid>
        <CopyIcon value={codes.join('\n')} label={t.account.recoveryCodes} />
      </Stack>
    </ShownOnce>
  )
}
