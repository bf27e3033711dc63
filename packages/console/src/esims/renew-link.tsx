import { Text } from '@mantine/core'
import { ChangeDialog } from '#parts/dialog.tsx'
import { t } from '#strings/strings.ts'

/** Gives the traveller's page another address. */
export function RenewLink({ path, onClose }: { path: string; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.esims.renewLink}
      onClose={onClose}
      submit={t.esims.renewLink}
      success={t.esims.linkRenewed}
      request={() => ({ method: 'POST', path: `${path}/renew-share-link` })}
    >
      <Text size="sm">{t.esims.renewLinkText}</Text>
    </ChangeDialog>
  )
}
