import type { Setup } from '@dealer-esim/gateway/http/console/home/guided-start.ts'
import { useState } from 'react'
import { Invite, type OpenDialog, ShowLink } from '#people/person-dialogs.tsx'
import { type CreatedDealer, NewDealer } from '#tenants/new-dealer.tsx'
import { TopUp } from '#wallet/money-dialog.tsx'

type Step = 'create' | 'invite' | 'topUp'

/**
 * A new dealer in one go: create it, invite its administrator, credit its first payment. For the first dealer, it resumes
 * where it was interrupted and skips what already exists. Cancel leaves the remaining steps for later.
 */
export function DealerWizard(props: {
  /** The dealer to continue with; null: a new one. */
  dealer: Setup['dealer']
  /** @param dealer undefined where none was created */
  onClose(dealer?: { tenantId: string }): void
}) {
  const [dealer, setDealer] = useState<Pick<CreatedDealer, 'tenantId' | 'clientName' | 'currencyCode'> | null>(
    props.dealer,
  )
  const close = () => props.onClose(dealer ?? undefined)
  const [step, setStep] = useState<Step>(() => firstStep(props.dealer))
  const [link, setLink] = useState<Extract<OpenDialog, { kind: 'showLink' }>>()
  if (!dealer || step === 'create')
    return (
      <NewDealer
        onClose={close}
        onCreated={(created) => {
          setDealer(created)
          setStep('invite')
        }}
      />
    )
  const goOn = () => (props.dealer?.hasMoney ? close() : setStep('topUp'))
  if (link !== undefined) {
    return (
      <ShowLink
        {...link}
        onClose={() => {
          setLink(undefined)
          goOn()
        }}
      />
    )
  }
  if (step === 'invite')
    return (
      <Invite
        tenantId={dealer.tenantId}
        dealer={dealer.clientName}
        onOpen={(open) => (open?.kind === 'showLink' ? setLink(open) : close())}
      />
    )
  return (
    <TopUp tenantId={dealer.tenantId} clientName={dealer.clientName} currency={dealer.currencyCode} onClose={close} />
  )
}

function firstStep(dealer: Setup['dealer']): Step {
  if (dealer === null) return 'create'
  return dealer.hasPeople ? 'topUp' : 'invite'
}
