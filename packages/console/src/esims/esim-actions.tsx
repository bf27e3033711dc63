import type { ProfileCodes } from '@dealer-esim/gateway/console-api/profiles.ts'
import { Box, Button, Group, Image, Text } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '../api/use-api.ts'
import { Dialog, ReasonField } from '../parts/dialog.tsx'
import { notifySuccess } from '../parts/notify.ts'
import { Card } from '../parts/page.tsx'
import { Copyable, Facts } from '../parts/values.tsx'
import { t } from '../strings/strings.ts'

/** Shown on request, forgotten with the page. */
export function Codes({ path }: { path: string }) {
  const [codes, setCodes] = useState<ProfileCodes>()
  const show = useChange<ProfileCodes>()
  return (
    <Card
      title={t.profiles.codes}
      actions={
        <Button
          variant="default"
          loading={show.isPending}
          onClick={() =>
            codes
              ? setCodes(undefined)
              : show.mutate({ method: 'POST', path: `${path}/codes` }, { onSuccess: setCodes })
          }
        >
          {codes ? t.profiles.hideCodes : t.profiles.showCodes}
        </Button>
      }
    >
      <Text size="sm" c="dimmed">
        {t.profiles.codesText}
      </Text>
      {codes && (
        <Group align="flex-start" gap="xl">
          <Box bg="white" p="sm">
            <Image src={`data:image/svg+xml,${encodeURIComponent(codes.qr)}`} alt={t.profiles.qrAlt} w={200} h={200} />
          </Box>
          <Box flex={1} miw={260}>
            <Facts
              items={[
                [t.profiles.ac, <Copyable key="a" value={codes.ac} label={t.profiles.ac} />],
                [t.profiles.matchingId, codes.matchingId],
                [t.profiles.confirmationCode, codes.confirmationCode],
                [t.profiles.pin, codes.pin],
                [t.profiles.puk, codes.puk],
              ]}
            />
          </Box>
        </Group>
      )}
    </Card>
  )
}

export function CancelEsim({ path, iccid }: { path: string; iccid: string }) {
  const [asking, setAsking] = useState(false)
  const cancel = useChange<{ outcome: keyof typeof t.profiles.cancelOutcomes }>({ quiet: true })
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {t.profiles.cancel}
      </Button>
      <Dialog
        title={`${t.profiles.cancel}: ${iccid}`}
        opened={asking}
        onClose={() => setAsking(false)}
        submit={t.profiles.cancel}
        danger
        busy={cancel.isPending}
        error={cancel.error}
        onSubmit={(body) =>
          cancel.mutate(
            { method: 'POST', path: `${path}/cancel`, body },
            {
              onSuccess({ outcome }) {
                notifySuccess(t.profiles.cancelOutcomes[outcome])
                setAsking(false)
              },
            },
          )
        }
      >
        <Text size="sm">{t.profiles.cancelText}</Text>
        <ReasonField />
      </Dialog>
    </>
  )
}
