import { androidInstallUrl, appleInstallUrl } from '@dealer-esim/contract'
import type { ProfileCodes } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { Box, Button, Group, Image, Stack } from '@mantine/core'
import { Card } from '#parts/page.tsx'
import { Copyable, Facts, Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

/** Shown on request, and discarded with the page. */
export function Codes({ codes, iccid, onHide }: { codes: ProfileCodes; iccid: string; onHide(): void }) {
  return (
    <Card
      title={t.esims.installation}
      actions={
        <Button variant="default" onClick={onHide}>
          {t.esims.hideCodes}
        </Button>
      }
    >
      <Hint>{t.esims.installationText}</Hint>
      <Group align="flex-start" gap="xl">
        <Stack gap="xs">
          <Box bg="white" p="sm">
            <Image src={`data:image/svg+xml,${encodeURIComponent(codes.qr)}`} alt={t.esims.qrAlt} w={200} h={200} />
          </Box>
          <Button
            component="a"
            href={`data:image/png;base64,${codes.qrPng}`}
            download={`esim-${iccid}.png`}
            variant="default"
            size="xs"
          >
            {t.esims.downloadQr}
          </Button>
        </Stack>
        <Box flex={1} miw={260}>
          <Facts
            items={[
              [t.esims.activationCode, <Copyable key="a" value={codes.ac} label={t.esims.activationCode} />],
              [t.esims.matchingId, codes.matchingId],
              ...present([t.esims.confirmationCode, codes.confirmationCode]),
              ...present([t.esims.pin, codes.pin]),
              ...present([t.esims.puk, codes.puk]),
              ...present([t.esims.kycUrl, codes.kycUrl]),
              [t.esims.appleLink, <Copyable key="i" value={appleInstallUrl(codes.ac)} label={t.esims.appleLink} />],
              [
                t.esims.androidLink,
                <Copyable key="g" value={androidInstallUrl(codes.ac)} label={t.esims.androidLink} />,
              ],
            ]}
          />
        </Box>
      </Group>
    </Card>
  )
}

/** Returns the fact if it has a value, because most eSIMs have no such code. */
function present(fact: [string, string | null]): [string, string | null][] {
  return fact[1] === null ? [] : [fact]
}
