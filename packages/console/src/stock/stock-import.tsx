import type { StockLevel } from '@dealer-esim/gateway/http/console/stock.ts'
import { Alert, FileInput, NativeSelect, Progress, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type FileAnswers, FileQuestion, type Question } from '#api/file-question.tsx'
import { upload } from '#api/upload.ts'
import { queryClient } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatCount } from '#parts/format.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { notifySuccess } from '#parts/notify.ts'
import { List } from '#parts/record-list.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

type ImportLine = { rows: number } | { codes: number; warnings: string[] } | ({ code: string } & Failure)
interface RowError {
  row: number
  reason: string
  column?: string
  /** Omitted for secrets. */
  value?: string
}

/** The option to type a product. No product's code is a single space. */
const OTHER = ' '
const ALERT_DAYS = 14

/** The typical length of a line, to estimate the number of rows. */
const ROW_BYTES = 90

interface StockImportProps {
  stockSuppliers: string[]
  /** The products to choose from. */
  levels: StockLevel[]
  onClose(): void
}

/** Imports a file of codes as a batch of one product. */
export function StockImport({ stockSuppliers, levels, onClose }: StockImportProps) {
  const [supplier, setSupplier] = useState(stockSuppliers[0] ?? '')
  const [product, setProduct] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [progress, setProgress] = useState<{ share: number; text: string }>()
  const [failure, setFailure] = useState<Failure>()
  const [terms, setTerms] = useState<Record<string, string>>({})
  const [answers, setAnswers] = useState<FileAnswers>({})
  const [warnings, setWarnings] = useState<string[]>([])

  async function run(query: Record<string, string>, said: FileAnswers) {
    if (!file) return
    setTerms(query)
    setAnswers(said)
    setFailure(undefined)
    const all = Math.max(1, Math.round(file.size / ROW_BYTES))
    try {
      const text = await upload('/stock/import', { ...query, ...said }, file, {
        // The first half of the bar is the upload, the second half the import.
        onSent: (share) => setProgress({ share: share / 2, text: t.stock.uploading }),
        onText: (lines) => setProgress(progressFrom(lastLine(lines), all)),
      })
      const last = lastLine(text)
      if (last && 'codes' in last) {
        notifySuccess(formatMessage(t.stock.imported, { count: last.codes }))
        await queryClient.invalidateQueries()
        if (last.warnings.length === 0) onClose()
        else {
          setWarnings(last.warnings)
          setFile(null)
        }
      } else setFailure(last && 'message' in last ? last : { message: t.stock.interrupted })
    } catch (error) {
      setFailure(error as Error)
    }
    setProgress(undefined)
  }

  return (
    <Dialog
      title={t.stock.import}
      opened
      onClose={onClose}
      closing={warnings.length > 0 ? t.common.close : undefined}
      submit={t.stock.import}
      busy={progress !== undefined}
      size="lg"
      onSubmit={({ productCode = product, batchName, expiresOn, alertDays = '0' }) => {
        const expiresAt = expiresOn && `${expiresOn}T00:00:00.000Z`
        const batch = { ...(batchName && { batchName }), ...(expiresAt && { expiresAt }) }
        void run({ supplier, productCode, alertDays, ...batch }, answers)
      }}
    >
      <ProductFields {...{ stockSuppliers, levels, supplier, product, setSupplier, setProduct }} />
      <BatchFields />
      <FileInput
        label={t.stock.file}
        description={t.stock.fileHint}
        accept=".csv,.tsv,.txt,.xlsx,text/csv"
        value={file}
        onChange={(chosen) => {
          setFile(chosen)
          setFailure(undefined)
          setAnswers({})
        }}
        required
      />
      {progress && (
        <>
          <Progress value={progress.share * 100} aria-label={t.stock.import} animated />
          <Text size="sm" role="status">
            {progress.text}
          </Text>
        </>
      )}
      {warnings.map((warning) => (
        <Alert key={warning} color="orange" role="status">
          {warning}
        </Alert>
      ))}
      {failure && <ImportFailure failure={failure} />}
      {failure?.question && (
        <FileQuestion
          key={failure.question.kind}
          question={failure.question}
          onAnswer={(answer) => void run(terms, { ...answers, ...answer })}
        />
      )}
    </Dialog>
  )
}

interface ProductFieldsProps extends Pick<StockImportProps, 'stockSuppliers' | 'levels'> {
  supplier: string
  product: string
  setSupplier(supplier: string): void
  setProduct(product: string): void
}

function ProductFields(props: ProductFieldsProps) {
  const { stockSuppliers, levels, supplier, product, setSupplier, setProduct } = props
  const products = levels.filter((level) => level.supplier === supplier)
  return (
    <>
      <NativeSelect
        label={t.stock.supplier}
        data={stockSuppliers}
        value={supplier}
        onChange={(event) => {
          setSupplier(event.currentTarget.value)
          setProduct('')
        }}
        required
      />
      <NativeSelect
        label={t.stock.product}
        description={t.stock.productHint}
        value={product}
        onChange={(event) => setProduct(event.currentTarget.value)}
        data={[
          { value: '', label: t.stock.chooseProduct },
          ...products.map(({ productCode, available }) => ({
            value: productCode,
            label: formatMessage(t.stock.productWithCount, { product: productCode, count: formatCount(available) }),
          })),
          { value: OTHER, label: t.stock.otherProduct },
        ]}
        required
      />
      {product === OTHER && <TextInput name="productCode" label={t.stock.newProduct} required maxLength={128} />}
    </>
  )
}

function BatchFields() {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }} style={{ alignItems: 'start' }}>
      <TextInput name="batchName" label={t.stock.batchName} description={t.stock.batchNameHint} maxLength={100} />
      <TextInput type="date" name="expiresOn" label={t.stock.expires} description={t.stock.expiresHint} />
      <TextInput
        type="number"
        name="alertDays"
        min={1}
        max={365}
        label={t.stock.alertDays}
        description={t.stock.alertDaysHint}
        defaultValue={ALERT_DAYS}
      />
    </SimpleGrid>
  )
}

interface Failure {
  message: string
  faults?: RowError[] | undefined
  question?: Question | undefined
}

/** The failure may be an Error, which loses its message when it is spread. */
function ImportFailure({ failure: { message, faults } }: { failure: Failure }) {
  return (
    <>
      <ErrorText>{message}</ErrorText>
      {faults && (
        <List<RowError>
          label={t.stock.problem}
          rows={faults}
          idOf={(row) => `${row.row} ${row.reason}`}
          empty={{ title: t.stock.problem }}
          columns={[
            { accessor: 'row', title: t.stock.row },
            { accessor: 'column', title: t.stock.column, render: (row) => row.column ?? '–' },
            { accessor: 'value', title: t.stock.value, render: (row) => row.value || '–', cellsClassName: 'mono' },
            { accessor: 'reason', title: t.stock.problem },
          ]}
        />
      )}
    </>
  )
}

function lastLine(text: string): ImportLine | undefined {
  const lines = text.trimEnd().split('\n')
  try {
    return JSON.parse(lines.at(-1) ?? '') as ImportLine
  } catch {
    return undefined
  }
}

function progressFrom(line: ImportLine | undefined, all: number) {
  const rows = line && 'rows' in line ? line.rows : 0
  const text = formatMessage(t.stock.checking, { rows: formatCount(rows), all: formatCount(all) })
  return { share: 0.5 + Math.min(rows / all, 1) / 2, text }
}
