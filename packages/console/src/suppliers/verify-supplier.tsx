import type {
  CheapestProduct,
  SupplierVerified,
} from '@dealer-esim/gateway/http/console/suppliers/supplier-verification.ts'
import { Button, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatMoneyInput } from '#parts/form-values.ts'
import { Loading } from '#parts/load-states.tsx'
import { notifyError, notifySuccess } from '#parts/notify.ts'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { supplierPage } from './supplier-paths.ts'

/** Buys one real eSIM: the cheapest product of the supplier, unless the person enters another. */
export function VerifySupplier({ supplier }: { supplier: string }) {
  const [opened, setOpened] = useState(false)
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setOpened(true)}>
        {t.suppliers.verify}
      </Button>
      {opened && <VerifyDialog supplier={supplier} onClose={() => setOpened(false)} />}
    </>
  )
}

interface Stated {
  buy: string
  price: string
  currencyCode: string
}

/** The button shows the amount. The gateway refuses it if the price has changed, and returns the new one. */
function VerifyDialog({ supplier, onClose }: { supplier: string; onClose(): void }) {
  const page = supplierPage(supplier)
  const { data } = useApi<CheapestProduct>(`${page}/cheapest-product`)
  const verify = useChange<SupplierVerified>({ quiet: true })
  const [buy, setBuy] = useState<string>()
  const [answered, setAnswered] = useState<Stated>()
  if (data === undefined) return <Loading />
  const { product } = data
  const listed = product && {
    buy: product.productCode,
    price: formatMoneyInput(product.cost),
    currencyCode: product.currencyCode,
  }
  const chosen = buy ?? product?.productCode ?? ''
  const stated = [answered, listed].find((one) => one?.buy === chosen)
  /** A charge that the balance contradicts stays on the supplier's page. */
  function report({ isVerified, iccid, cancelled, message, charge }: SupplierVerified) {
    onClose()
    if (!isVerified)
      return notifyError(new Error(formatMessage(t.suppliers.notVerified, { iccid, message: charge.message })))
    const text = cancelled ? t.suppliers.verifiedCancelled : t.suppliers.verifiedKept
    notifySuccess(`${formatMessage(text, { iccid, message: message ?? '' })} ${charge.message}`)
  }
  return (
    <Dialog
      title={formatMessage(t.suppliers.verifyTitle, { supplier })}
      opened
      onClose={onClose}
      submit={
        stated
          ? formatMessage(t.suppliers.verifyBuy, { price: `${stated.currencyCode} ${stated.price}` })
          : t.suppliers.verifySubmit
      }
      busy={verify.isPending}
      error={verify.error}
      onSubmit={(fields) =>
        verify.mutate(
          { method: 'POST', path: `${page}/verify`, body: { ...fields, ...(stated && { confirm: stated.price }) } },
          {
            onSuccess: report,
            onError: ({ code, data: stating }: ApiError) => {
              if (code === 'NOT_CONFIRMED') setAnswered({ buy: chosen, ...stating } as unknown as Stated)
            },
          },
        )
      }
    >
      <Text size="sm">{t.suppliers.verifyIntro}</Text>
      <TextInput
        name="buy"
        label={t.suppliers.verifyProduct}
        description={product?.productCode === chosen ? product.name : t.suppliers.verifyProductHint}
        value={chosen}
        onChange={(event) => setBuy(event.currentTarget.value)}
        required
      />
      <ReauthenticationFields />
    </Dialog>
  )
}
