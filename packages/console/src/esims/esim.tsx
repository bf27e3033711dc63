import type { ProfileCodes, ProfileRow } from '@dealer-esim/gateway/console-api/profiles.ts'
import { Anchor, Box, Button, Group, Image, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { Dialog, ReasonField } from '../parts/dialog.tsx'
import { Failure, Loading } from '../parts/load-states.tsx'
import { told } from '../parts/notify.ts'
import { Card, Page } from '../parts/page.tsx'
import { Copyable, Facts, Status, When } from '../parts/values.tsx'
import { isOperator, operates, useSession, works } from '../session/session.ts'
import { counted, t } from '../strings/strings.ts'
import { usageOf } from './esims.tsx'

export function ProfilePage() {
  const me = useSession()
  const { tenantId, profileId } = useParams({ strict: false }) as { tenantId: string; profileId: string }
  const path = `/tenants/${tenantId}/profiles/${profileId}`
  const { data: profile, error, refetch } = useApi<ProfileRow>(path)
  if (error && !profile) return <Failure error={error} retry={refetch} />
  if (!profile) return <Loading />
  const unused = profile.esimStatus === 'GOT_RESOURCE' && ['RELEASED', null].includes(profile.smdpStatus)
  return (
    <Page
      title={profile.iccid}
      back={{ to: '/profiles', label: t.profiles.title }}
      description={
        <Group gap="xs" mt={4}>
          <Status of={profile.esimStatus} />
          {profile.smdpStatus && <Status of={profile.smdpStatus} />}
          {isOperator(me) && profile.clientName}
        </Group>
      }
      actions={operates(me) && unused && <CancelEsim path={path} iccid={profile.iccid} />}
    >
      <Card>
        <Facts
          of={[
            [
              t.profiles.order,
              <Anchor
                key="o"
                component={Link}
                to={`/tenants/${tenantId}/orders/${profile.orderNo}`}
                search={{} as never}
                size="sm"
              >
                {profile.transactionId}
              </Anchor>,
            ],
            [t.profiles.package, profile.packageCode],
            [t.profiles.supplier, profile.supplier],
            [t.profiles.esimTranNo, <Copyable key="e" value={profile.profileId} label={t.profiles.esimTranNo} />],
            [t.profiles.smdp, profile.smdpAddress],
            [t.profiles.eid, profile.eid],
            [t.profiles.imsi, profile.imsi],
            [t.profiles.msisdn, profile.msisdn],
            [t.profiles.usage, usageOf(profile)],
            [t.profiles.validity, counted(t.profiles.days, profile.totalDuration)],
            [t.profiles.installBefore, <When key="i" at={profile.installBefore} />],
            [t.profiles.activated, <When key="a" at={profile.activateTime} />],
            [t.profiles.expires, <When key="x" at={profile.expiredTime} />],
            [t.common.created, <When key="c" at={profile.createdAt} />],
          ]}
        />
      </Card>
      {works(me) && <Codes path={path} />}
    </Page>
  )
}

/** Shown on request, forgotten with the page. */
function Codes({ path }: { path: string }) {
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
              of={[
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

function CancelEsim({ path, iccid }: { path: string; iccid: string }) {
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
                told(t.profiles.cancelOutcomes[outcome])
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
