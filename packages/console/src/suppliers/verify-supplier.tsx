import type { SupplierVerified } from '@dealer-esim/gateway/http/console/suppliers/supplier-verification.ts'
import { Button, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { notifyError, notifySuccess } from '#parts/notify.ts'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { interpolate, t } from '#strings/strings.ts'
import { supplierPage } from './supplier-paths.ts'

/** Buys one real eSIM. The first request states its price, which then has to be typed to confirm the purchase. */
export function VerifySupplier({ supplier }: { supplier: string }) {
  const [opened, setOpened] = useState(false)
  const verify = useChange<SupplierVerified>({ quiet: true })
  function close() {
    verify.reset()
    setOpened(false)
  }
  /** A charge that the balance contradicts stays on the supplier's page. */
  function report({ isVerified, iccid, cancelled, message, charge }: SupplierVerified) {
    setOpened(false)
    if (!isVerified)
      return notifyError(new Error(interpolate(t.suppliers.notVerified, { iccid, message: charge.message })))
    const text = cancelled ? t.suppliers.verifiedCancelled : t.suppliers.verifiedKept
    notifySuccess(`${interpolate(text, { iccid, message: message ?? '' })} ${charge.message}`)
  }
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setOpened(true)}>
        {t.suppliers.verify}
      </Button>
      {opened && (
        <Dialog
          title={interpolate(t.suppliers.verifyTitle, { supplier })}
          opened
          onClose={close}
          submit={t.suppliers.verifySubmit}
          busy={verify.isPending}
          error={verify.error}
          onSubmit={({ confirm, ...fields }) =>
            verify.mutate(
              {
                method: 'POST',
                path: `${supplierPage(supplier)}/verify`,
                body: { ...fields, ...(confirm && { confirm }) },
              },
              { onSuccess: report },
            )
          }
        >
          <Text size="sm">{t.suppliers.verifyIntro}</Text>
          <TextInput
            name="buy"
            label={t.suppliers.verifyProduct}
            description={t.suppliers.verifyProductHint}
            required
          />
          <TextInput name="confirm" label={t.suppliers.verifyPrice} description={t.suppliers.verifyPriceHint} />
          <ReauthenticationFields />
        </Dialog>
      )}
    </>
  )
}
