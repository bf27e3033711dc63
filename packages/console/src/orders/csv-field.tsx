import { FileInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import { formatMessage, t } from '#strings/strings.ts'

/** The console API's limit for eSIMs that settle an order: a hundred of them need a fifth of it. */
const LENGTH_MAX = 100_000

/** CSV text, typed or from a file; a file's text can then be edited. Field name: csv. */
export function CsvField(props: { label: string; hint: string; lengthMax?: number }) {
  const { label, hint, lengthMax = LENGTH_MAX } = props
  const [csv, setCsv] = useState('')
  const [fileError, setFileError] = useState<string>()
  async function read(file: File | null) {
    const isTooLong = (file?.size ?? 0) > lengthMax
    setFileError(isTooLong ? formatMessage(t.orders.csvTooLong, { max: lengthMax }) : undefined)
    if (!file || isTooLong) return
    try {
      setCsv(new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()))
    } catch {
      setFileError(t.orders.csvNotText)
    }
  }
  return (
    <>
      <FileInput
        label={t.orders.csvFile}
        accept=".csv,text/csv"
        onChange={(file) => void read(file)}
        error={fileError}
        clearable
        clearButtonProps={{ 'aria-label': t.catalogue.removeFile }}
      />
      <Textarea
        name="csv"
        label={label}
        description={hint}
        value={csv}
        onChange={(event) => setCsv(event.currentTarget.value)}
        autosize
        minRows={4}
        maxRows={12}
        required
      />
    </>
  )
}
