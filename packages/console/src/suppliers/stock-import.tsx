import { Alert, FileInput, Progress, Select, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { upload } from '../api/upload.ts'
import { queryClient } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { count } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { told } from '../parts/notify.ts'
import { counted, say, t } from '../strings/strings.ts'

type Line = { rows: number } | { codes: number } | { code: string; message: string; faults?: Fault[] }
interface Fault {
  line: number
  reason: string
}

/** A usual line of such a file: enough to guess how many there are. */
const BYTES_PER_ROW = 90

export function StockImport({ suppliers, onClose }: { suppliers: string[]; onClose(): void }) {
  const [file, setFile] = useState<File | null>(null)
  const [progress, setProgress] = useState<{ share: number; words: string }>()
  const [failure, setFailure] = useState<{ message: string; faults?: Fault[] | undefined }>()

  async function run(query: Record<string, string>) {
    if (!file) return
    setFailure(undefined)
    const all = Math.max(1, Math.round(file.size / BYTES_PER_ROW))
    try {
      const text = await upload('/stock/import', query, file, {
        // The first half of the bar is the way here, the second the storing.
        sent: (share) => setProgress({ share: share / 2, words: t.stock.uploading }),
        text: (lines) => setProgress(progressOf(lastLine(lines), all)),
      })
      const last = lastLine(text)
      if (last && 'codes' in last) {
        told(counted(t.stock.done, last.codes))
        await queryClient.invalidateQueries()
        onClose()
      } else setFailure(last && 'message' in last ? last : { message: t.stock.brokenOff })
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
            {progress.words}
          </Text>
        </>
      )}
      {failure && (
        <>
          <Alert color="red" role="alert">
            {failure.message}
          </Alert>
          {failure.faults && (
            <List<Fault>
              label={t.stock.reason}
              rows={failure.faults}
              loading={false}
              idOf={(row) => `${row.line} ${row.reason}`}
              empty={{ title: t.stock.reason }}
              columns={[
                { accessor: 'line', title: t.stock.line },
                { accessor: 'reason', title: t.stock.reason },
              ]}
            />
          )}
        </>
      )}
    </Dialog>
  )
}

function lastLine(text: string): Line | undefined {
  const lines = text.trimEnd().split('\n')
  try {
    return JSON.parse(lines.at(-1) ?? '') as Line
  } catch {
    return undefined
  }
}

function progressOf(line: Line | undefined, all: number) {
  const rows = line && 'rows' in line ? line.rows : 0
  const words = say(t.stock.checking, { rows: count(rows), all: count(all) })
  return { share: 0.5 + Math.min(rows / all, 1) / 2, words }
}
