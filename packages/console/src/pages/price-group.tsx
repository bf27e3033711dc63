import type { GroupDetail } from '@dealer-esim/gateway/console-api/price-groups.ts'
import { Anchor, Button, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { GROUPS, planPath } from '../price-paths.ts'
import { operates, useSession } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useApi, useChange } from '../use-api.ts'
import { GroupDealers } from './group-dealers.tsx'
import { apiPathOf, NameActions } from './price-names.tsx'
import { PlanField } from './price-select.tsx'

export function PriceGroupPage() {
  const me = useSession()
  const { groupName = '' } = useParams({ strict: false }) as { groupName?: string }
  const { data, error, refetch } = useApi<GroupDetail>(apiPathOf('group', groupName))
  const [choosing, setChoosing] = useState(false)
  if (error && !data) return <Failure error={error} retry={refetch} />
  if (!data) return <Loading />
  return (
    <Page
      title={data.groupName}
      back={{ to: GROUPS, label: t.prices.tabs.groups }}
      actions={operates(me) && <NameActions kind="group" name={data.groupName} />}
    >
      <Card
        title={t.prices.plan}
        actions={
          operates(me) && (
            <Button size="xs" variant="default" onClick={() => setChoosing(true)}>
              {t.prices.change}
            </Button>
          )
        }
      >
        {data.planName === null ? (
          <Text size="sm">{t.prices.noPlan}</Text>
        ) : (
          <Anchor component={Link} to={planPath(data.planName)} size="sm">
            {data.planName}
          </Anchor>
        )}
      </Card>
      <GroupDealers group={data} />
      {choosing && <ChoosePlan group={data} onClose={() => setChoosing(false)} />}
    </Page>
  )
}

function ChoosePlan({ group, onClose }: { group: GroupDetail; onClose(): void }) {
  const change = useChange({ done: t.prices.holds, quiet: true })
  return (
    <Dialog
      title={`${t.prices.plan}: ${group.groupName}`}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={change.isPending}
      error={change.error}
      onSubmit={({ planName = null }) =>
        change.mutate(
          { method: 'PUT', path: `${apiPathOf('group', group.groupName)}/plan`, body: { planName } },
          { onSuccess: onClose },
        )
      }
    >
      <PlanField chosen={group.planName} />
    </Dialog>
  )
}
