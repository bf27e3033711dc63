import { Alert, FileInput, Progress, Select, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { upload } from '../api/upload.ts'
import { queryClient } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { formatCount } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { notifySuccess } from '../parts/notify.ts'
import { interpolate, plural, t } from '../strings/strings.ts'

type ImportLine = { rows: number } | { codes: number } | { code: string; message: string; faults?: LineError[] }
interface LineError {
  line: number
  reason: string
}

/** The typical length of a line, to estimate the number of rows. */
const ROW_BYTES = 90

export function StockImport({ suppliers, onClose }: { suppliers: string[]; onClose(): void }) {
  const [file, setFile] = useState<File | null>(null)
  const [progress, setProgress] = useState<{ share: number; text: string }>()
  const [failure, setFailure] = useState<{ message: string; faults?: LineError[] | undefined }>()

  async function run(query: Record<string, string>) {
    if (!file) return
    setFailure(undefined)
    const all = Math.max(1, Math.round(file.size / ROW_BYTES))
    try {
      const text = await upload('/stock/import', query, file, {
        // The first half of the bar is the upload, the second half the import.
        onSent: (share) => setProgress({ share: share / 2, text: t.stock.uploading }),
        onText: (lines) => setProgress(progressFrom(lastLine(lines), all)),
      })
      const last = lastLine(text)
      if (last && 'codes' in last) {
        notifySuccess(plural(t.stock.imported, last.codes))
        await queryClient.invalidateQueries()
        onClose()
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
      submit={t.stock.import}
      busy={progress !== undefined}
      onSubmit={({ supplier = '', productCode = '' }) => void run({ supplier, productCode })}
    >
      <Select name="supplier" label={t.stock.supplier} data={suppliers} defaultValue={suppliers[0] ?? null} required />
      <TextInput name="productCode" label={t.stock.product} required maxLength={128} />
      <FileInput
        label={t.stock.file}
        description={t.stock.fileHint}
        accept=".csv,text/csv"
        value={file}
        onChange={setFile}
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
      {failure && (
        <>
          <Alert color="red" role="alert">
            {failure.message}
          </Alert>
          {failure.faults && (
            <List<LineError>
              label={t.stock.problem}
              rows={failure.faults}
              loading={false}
              idOf={(row) => `${row.line} ${row.reason}`}
              empty={{ title: t.stock.problem }}
              columns={[
                { accessor: 'line', title: t.stock.line },
                { accessor: 'reason', title: t.stock.problem },
              ]}
            />
          )}
        </>
      )}
    </Dialog>
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
  const text = interpolate(t.stock.checking, { rows: formatCount(rows), all: formatCount(all) })
  return { share: 0.5 + Math.min(rows / all, 1) / 2, text }
}
