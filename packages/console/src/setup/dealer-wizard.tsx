import type { Setup } from '@dealer-esim/gateway/console-api/routes/overview/setup.ts'
import { useState } from 'react'
import { Invite, type OpenDialog, ShowLink } from '../administration/person-dialogs.tsx'
import { type CreatedDealer, NewDealer } from '../dealers/new-dealer.tsx'
import { TopUp } from '../wallet/money-dialog.tsx'

type Step = 'create' | 'invite' | 'topUp'

/**
 * The first dealer in one go: create it, invite its administrator, credit its first payment. It goes on where it was
 * left: what is there already is not asked for again.
 */
export function DealerWizard(props: { dealer: Setup['dealer']; onClose(): void }) {
  const [dealer, setDealer] = useState<Pick<CreatedDealer, 'tenantId' | 'clientName' | 'currencyCode'> | null>(
    props.dealer,
  )
  const [step, setStep] = useState<Step>(() => firstStep(props.dealer))
  const [link, setLink] = useState<Extract<OpenDialog, { kind: 'showLink' }>>()
  if (!dealer || step === 'create')
    return (
      <NewDealer
        onClose={props.onClose}
        onCreated={(created) => {
          setDealer(created)
          setStep('invite')
        }}
      />
    )
  const goOn = () => (props.dealer?.hasMoney ? props.onClose() : setStep('topUp'))
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
        onOpen={(open) => (open?.kind === 'showLink' ? setLink(open) : props.onClose())}
      />
    )
  return (
    <TopUp
      tenantId={dealer.tenantId}
      clientName={dealer.clientName}
      currency={dealer.currencyCode}
      onClose={props.onClose}
    />
  )
}

function firstStep(dealer: Setup['dealer']): Step {
  if (dealer === null) return 'create'
  return dealer.hasPeople ? 'topUp' : 'invite'
}
