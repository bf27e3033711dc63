import { androidInstallUrl, appleInstallUrl } from '@dealer-esim/contract'
import type { ProfileCodes } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { Box, Button, Code, Group, Image, Stack } from '@mantine/core'
import { Card } from '#parts/page.tsx'
import { CopyIcon, Facts, Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'
import { CopyLink } from './ticket.tsx'

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
            cols={1}
            items={[
              [t.esims.activationCode, <OneLine key="a" value={codes.ac} label={t.esims.activationCode} />],
              [t.esims.matchingId, <OneLine key="m" value={codes.matchingId} label={t.esims.matchingId} />],
              ...present([t.esims.confirmationCode, codes.confirmationCode]),
              ...present([t.esims.pin, codes.pin]),
              ...present([t.esims.puk, codes.puk]),
              ...present([t.esims.kycUrl, codes.kycUrl]),
            ]}
          />
          <Group gap="xs" mt="md">
            <CopyLink url={appleInstallUrl(codes.ac)} label={t.esims.appleLink} size="xs" />
            <CopyLink url={androidInstallUrl(codes.ac)} label={t.esims.androidLink} size="xs" />
          </Group>
        </Box>
      </Group>
    </Card>
  )
}

/** Returns the fact if it has a value, because most eSIMs have no such code. */
function present(fact: [string, string | null]): [string, string | null][] {
  return fact[1] === null ? [] : [fact]
}

/** Codes differ at their ends, so that a narrow line leaves out the middle. */
const END_LENGTH = 10

function OneLine({ value, label }: { value: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" justify="space-between">
      <Code className="one-line" data-value={label}>
        <span>{value.slice(0, -END_LENGTH)}</span>
        {value.slice(-END_LENGTH)}
      </Code>
      <CopyIcon value={value} label={label} />
    </Group>
  )
}
