import type { StockCodeRow } from '@dealer-esim/gateway/http/console/stock-batches.ts'
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { SearchField } from '#parts/filters.tsx'
import { formatDay } from '#parts/format.ts'
import { actionsColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Copyable, Facts, Hint, Status, Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { StockFrame } from './stock-tabs.tsx'

/** The gateway's limit: fewer digits would match most of a stock. */
const DIGITS_MIN = 8

/** Finds a code by its ICCID. Its activation code is shown only on demand, which is recorded. */
export function StockCodesPage() {
  const me = useSession()
  const [{ iccid = '' }, setFilters] = useFilters()
  const digits = iccid.replaceAll(/[\s-]/g, '')
  const isLongEnough = digits.length >= DIGITS_MIN
  const list = useApi<{ codes: StockCodeRow[] }>('/stock/codes', { iccid: digits }, { enabled: isLongEnough })
  const [shown, setShown] = useState<StockCodeRow>()
  return (
    <StockFrame description={t.stock.findText}>
      <SearchField label={t.stock.iccid} value={iccid} onChange={(value) => setFilters({ iccid: value })} />
      {isLongEnough ? (
        <List<StockCodeRow>
          label={t.stock.find}
          rows={list.data?.codes}
          query={list}
          idOf={(row) => row.codeId}
          empty={{ title: t.stock.noCode, text: t.stock.noCodeText }}
          columns={[
            { accessor: 'iccid', title: t.stock.iccid, width: 225, cellsClassName: 'mono shows-end', phone: 'main' },
            valueColumn('state', t.common.status, (row) => <Status status={row.state} labels={t.stock.states} />, {
              phone: 'status',
            }),
            { accessor: 'productCode', title: t.stock.product, cellsClassName: 'mono' },
            { accessor: 'supplier', title: t.stock.supplier, width: 100 },
            valueColumn('batchName', t.stock.batch, (row) => <BatchOfRow row={row} />, { phone: 'note', width: 150 }),
            valueColumn('expiresAt', t.stock.expires, (row) =>
              row.expiresAt === null ? t.stock.never : <Timestamp time={row.expiresAt} />,
            ),
            valueColumn('orderNo', t.stock.soldWith, (row) => <SoldWith row={row} />, { width: 90 }),
            actionsColumn(
              (row) =>
                row.state === 'SOLD' ? null : (
                  <RowButton
                    label={t.stock.reveal}
                    name={formatMessage(t.stock.revealOf, { iccid: row.iccid })}
                    onClick={() => setShown(row)}
                  />
                ),
              { hidden: !canOperate(me), phone: 'value' },
            ),
          ]}
        />
      ) : (
        <Hint>{t.stock.findHint}</Hint>
      )}
      {shown && <RevealDialog code={shown} onClose={() => setShown(undefined)} />}
    </StockFrame>
  )
}

/** On a phone between the product and the expiry, which have no columns there. */
function BatchOfRow({ row: { productCode, batchName, expiresAt } }: { row: StockCodeRow }) {
  return (
    <>
      <Text span inherit hiddenFrom="sm">
        {productCode} ·{' '}
      </Text>
      {batchName}
      {expiresAt && (
        <Text span inherit hiddenFrom="sm">
          {' '}
          · {t.stock.expires} {formatDay(expiresAt.slice(0, 10))}
        </Text>
      )}
    </>
  )
}

function SoldWith({ row: { orderNo } }: { row: StockCodeRow }) {
  if (orderNo === null) return <>–</>
  return (
    <Anchor component={Link} to="/orders" search={{ q: orderNo } as never} size="sm">
      {orderNo}
    </Anchor>
  )
}

interface Revealed {
  ac: string
  confirmationCode: string | null
  pin: string | null
  puk: string | null
}

function RevealDialog({ code, onClose }: { code: StockCodeRow; onClose(): void }) {
  const reveal = useChange<Revealed>({ quiet: true })
  const path = `/stock/${encodeURIComponent(code.supplier)}/codes/${code.codeId}/reveal`
  const { data } = reveal
  return (
    <Dialog
      title={formatMessage(t.stock.revealOf, { iccid: code.iccid })}
      opened
      onClose={onClose}
      submit={data ? t.common.close : t.stock.reveal}
      hasCancel={!data}
      busy={reveal.isPending}
      error={reveal.error}
      onSubmit={() => (data ? onClose() : reveal.mutate({ method: 'POST', path }))}
    >
      {data ? (
        <Stack gap="sm">
          <Copyable value={data.ac} label={t.stock.activationCode} />
          <Facts
            cols={2}
            items={[
              [t.stock.confirmationCode, data.confirmationCode],
              [t.stock.pinAndPuk, [data.pin, data.puk].filter(Boolean).join(', ')],
            ]}
          />
        </Stack>
      ) : (
        <Text size="sm">{t.stock.revealText}</Text>
      )}
    </Dialog>
  )
}
