import type { Setup } from '@dealer-esim/gateway/http/console/home/guided-start.ts'
import { DealerWizard } from './dealer-wizard.tsx'
import { GoLiveDialog } from './go-live.tsx'
import { CatalogueStep, SecondFactorStep, SupplierStep, WebhookStep } from './step-dialog.tsx'
import { TestOrder } from './test-order.tsx'

interface SetupDialogProps {
  step: keyof Setup['steps']
  setup: Setup
  onClose(): void
}

/** The dialog of a step of the guided start. */
export default function SetupDialog({ step, setup, onClose }: SetupDialogProps) {
  const { dealer, testPackage } = setup
  switch (step) {
    case 'dealer':
      return <DealerWizard dealer={dealer} onClose={onClose} />
    case 'testOrder':
      return dealer && testPackage && <TestOrder dealer={dealer} packageCode={testPackage} onClose={onClose} />
    case 'secondFactor':
      return <SecondFactorStep onClose={onClose} />
    case 'supplier':
      return <SupplierStep onClose={onClose} />
    case 'catalogue':
      return <CatalogueStep onClose={onClose} />
    case 'webhook':
      return dealer && <WebhookStep dealer={dealer} onClose={onClose} />
    case 'brand': // a page, not a dialog
      return null
    case 'goLive':
      return <GoLiveDialog onClose={onClose} />
    default:
      return step satisfies never
  }
}
