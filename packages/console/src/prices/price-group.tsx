import type { GroupDetail } from '@dealer-esim/gateway/http/console/prices/price-groups.ts'
import { Button, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { MoreMenu } from '#design/record.tsx'
import { ChangeDialog } from '#parts/dialog.tsx'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { TextLink } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { AssignedDealers, apiPath, useNameActions } from './plan-or-group.tsx'
import { PlanField } from './price-assignment.tsx'
import { GROUPS, planPath } from './price-paths.ts'

export function PriceGroupPage() {
  const me = useSession()
  const { groupName = '' } = useParams({ strict: false }) as { groupName?: string }
  const { data, error, refetch } = useApi<GroupDetail>(apiPath('group', groupName))
  const [choosing, setChoosing] = useState(false)
  const { more, dialog } = useNameActions('group', groupName)
  if (!data) return <LoadState error={error} retry={refetch} />
  return (
    <Page
      title={data.groupName}
      back={{ to: GROUPS, label: t.prices.tabs.groups }}
      actions={<MoreMenu actions={canOperate(me) ? more : []} />}
    >
      <Card
        title={t.prices.plan}
        actions={
          canOperate(me) && (
            <Button size="xs" variant="default" onClick={() => setChoosing(true)}>
              {t.prices.change}
            </Button>
          )
        }
      >
        {data.planName === null ? (
          <Text size="sm">{t.prices.noPlan}</Text>
        ) : (
          <TextLink to={planPath(data.planName)}>{data.planName}</TextLink>
        )}
      </Card>
      <AssignedDealers kind="group" name={data.groupName} list={data} />
      {dialog}
      {choosing && <ChoosePlan group={data} onClose={() => setChoosing(false)} />}
    </Page>
  )
}

function ChoosePlan({ group, onClose }: { group: GroupDetail; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.prices.plan}: ${group.groupName}`}
      onClose={onClose}
      submit={t.common.save}
      success={t.prices.saved}
      request={({ planName = null }) => ({
        method: 'PUT',
        path: `${apiPath('group', group.groupName)}/plan`,
        body: { planName },
      })}
    >
      <PlanField chosen={group.planName} />
    </ChangeDialog>
  )
}
