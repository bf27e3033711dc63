import { Button, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { Copyable, Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

interface ShareLink {
  shareUrl: string | null
  isMailPossible: boolean
}

/** The link to the traveller's page: shown on request, to copy, to send by e-mail, or to replace. */
export function TravellerLink({ path }: { path: string }) {
  const [link, setLink] = useState<ShareLink>()
  const [isSending, setIsSending] = useState(false)
  const show = useChange<ShareLink>()
  return (
    <Card
      title={t.esims.link}
      actions={
        <>
          <RenewShareLink path={path} onRenewed={() => setLink(undefined)} />
          {link?.isMailPossible && link.shareUrl !== null && (
            <Button variant="default" onClick={() => setIsSending(true)}>
              {t.esims.sendLink}
            </Button>
          )}
          {!link && (
            <Button
              variant="default"
              loading={show.isPending}
              onClick={() => show.mutate({ method: 'POST', path: `${path}/share-link` }, { onSuccess: setLink })}
            >
              {t.esims.showLink}
            </Button>
          )}
        </>
      }
    >
      <Hint>{t.esims.linkText}</Hint>
      {link && (link.shareUrl === null ? t.esims.linkEnded : <Copyable value={link.shareUrl} label={t.esims.link} />)}
      {isSending && <SendLink path={path} onClose={() => setIsSending(false)} />}
    </Card>
  )
}

function SendLink({ path, onClose }: { path: string; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.esims.sendLink}
      onClose={onClose}
      submit={t.esims.sendLink}
      success={t.esims.linkSent}
      request={(body) => ({ method: 'POST', path: `${path}/share-link/mail`, body })}
    >
      <Text size="sm">{t.esims.sendLinkText}</Text>
      <TextInput
        name="email"
        type="email"
        label={t.esims.recipient}
        required
        maxLength={254}
        autoComplete="off"
        data-autofocus
      />
    </ChangeDialog>
  )
}

function RenewShareLink({ path, onRenewed }: { path: string; onRenewed(): void }) {
  const [dialogOpen, setDialogOpen] = useState(false)
  const renew = useChange({ quiet: true, success: t.esims.linkRenewed })
  const close = () => setDialogOpen(false)
  return (
    <>
      <Button variant="default" onClick={() => setDialogOpen(true)}>
        {t.esims.renewLink}
      </Button>
      <Dialog
        title={t.esims.renewLink}
        opened={dialogOpen}
        onClose={close}
        submit={t.esims.renewLink}
        busy={renew.isPending}
        error={renew.error}
        onSubmit={() =>
          renew.mutate(
            { method: 'POST', path: `${path}/renew-share-link` },
            {
              onSuccess() {
                onRenewed()
                close()
              },
            },
          )
        }
      >
        <Text size="sm">{t.esims.renewLinkText}</Text>
      </Dialog>
    </>
  )
}
