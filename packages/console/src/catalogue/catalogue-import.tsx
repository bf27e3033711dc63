import type { ImportReport } from '@dealer-esim/gateway/catalogue/files/import-packages.ts'
import { Accordion, Alert, Anchor, Button, FileInput, Group, SimpleGrid, Text } from '@mantine/core'
import { IconFileUpload } from '@tabler/icons-react'
import { useState } from 'react'
import { type ApiError, consoleBase } from '#api/call-api.ts'
import { saveFile } from '#api/download.ts'
import { type FileAnswers, FileQuestion } from '#api/file-question.tsx'
import { upload } from '#api/upload.ts'
import { queryClient } from '#api/use-api.ts'
import { formatCount } from '#parts/format.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { notifySuccess } from '#parts/notify.ts'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { ChangeDetails } from './import-change.tsx'
import { errorFile, SAMPLE_FILE } from './import-files.ts'

export function CatalogueImportPage() {
  return (
    <Page title={t.catalogue.import} back={{ to: '/catalogue', label: t.catalogue.title }}>
      <CatalogueImport />
    </Page>
  )
}

/** Previews the changes and the errors of a file first. Importing it is a second step, all or nothing. */
export function CatalogueImport({ onImported }: { onImported?: () => void }) {
  const [file, setFile] = useState<File | null>(null)
  const [report, setReport] = useState<ImportReport>()
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const [over, setOver] = useState(false)
  const [answers, setAnswers] = useState<FileAnswers>({})
  function choose(chosen: File | null) {
    setFile(chosen)
    setReport(undefined)
    setError(undefined)
    setAnswers({})
  }

  async function run(dryRun: boolean, said: FileAnswers = answers) {
    if (!file) return
    setBusy(true)
    setError(undefined)
    try {
      const next = JSON.parse(await upload('/packages/import', { dryRun, ...said }, file)) as ImportReport
      setReport(next)
      if (next.imported) {
        notifySuccess(formatMessage(t.catalogue.imported, { added: next.added, changed: next.changed }))
        setFile(null)
        await queryClient.invalidateQueries()
        onImported?.()
      }
    } catch (failure) {
      setError(failure as ApiError)
    }
    setBusy(false)
  }

  const changes = (report?.added ?? 0) + (report?.changed ?? 0)
  const ready = report !== undefined && !report.imported && report.errorRows === 0 && changes > 0
  return (
    <>
      <Card>
        <Help />
        <Group
          align="flex-end"
          className="drop"
          data-over={over || undefined}
          onDragOver={(event) => {
            event.preventDefault()
            setOver(true)
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            event.preventDefault()
            setOver(false)
            choose(event.dataTransfer.files[0] ?? null)
          }}
        >
          <FileInput
            label={t.catalogue.file}
            description={t.catalogue.fileHint}
            accept=".csv,.tsv,.txt,.xlsx,text/csv"
            value={file}
            onChange={choose}
            placeholder={t.catalogue.chooseFile}
            leftSection={<IconFileUpload size={16} />}
            clearable
            clearButtonProps={{ 'aria-label': t.catalogue.removeFile }}
            w={{ base: '100%', sm: 420 }}
          />
          <Button variant="default" disabled={!file} loading={busy} onClick={() => void run(true)}>
            {t.catalogue.preview}
          </Button>
          <Button disabled={!ready} loading={busy} onClick={() => void run(false)}>
            {t.catalogue.apply}
          </Button>
        </Group>
        {error && <ErrorText>{error.message}</ErrorText>}
      </Card>
      {report?.question && (
        <FileQuestion
          key={report.question.kind}
          question={report.question}
          onAnswer={(answer) => {
            const said = { ...answers, ...answer }
            setAnswers(said)
            void run(true, said)
          }}
        />
      )}
      {report && <Preview report={report} />}
    </>
  )
}

/** Explains the columns, and links to a sample file and the guide. */
function Help() {
  return (
    <Accordion variant="contained">
      <Accordion.Item value="columns">
        <Accordion.Control>{t.catalogue.columnHelp}</Accordion.Control>
        <Accordion.Panel>
          <List
            label={t.catalogue.columnHelp}
            rows={Object.entries(t.catalogue.columnMeanings).map(([column, meaning]) => ({
              column: column || t.catalogue.emptyCell,
              meaning,
            }))}
            idOf={(row) => row.column}
            empty={{ title: t.catalogue.columnHelp }}
            columns={[
              { accessor: 'column', title: t.catalogue.column, cellsClassName: 'mono' },
              { accessor: 'meaning', title: t.catalogue.meaning },
            ]}
          />
          <Group mt="sm">
            <Button
              size="xs"
              variant="default"
              onClick={() => saveFile('packages-sample.csv', SAMPLE_FILE, 'text/csv')}
            >
              {t.catalogue.sampleFile}
            </Button>
            <Anchor size="sm" href={new URL('../docs/catalogue#files', consoleBase).href} target="_blank">
              {t.catalogue.guide}
            </Anchor>
          </Group>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  )
}

function Preview({ report }: { report: ImportReport }) {
  const sums = [
    [t.catalogue.rows, report.rows],
    [t.catalogue.added, report.added],
    [t.catalogue.changed, report.changed],
    [t.catalogue.unchanged, report.unchanged],
    [t.catalogue.errors, report.errorRows],
  ] as const
  return (
    <Card>
      <SimpleGrid cols={{ base: 2, sm: 5 }}>
        {sums.map(([label, value]) => (
          <div key={label} data-sum={label}>
            <Hint size="xs">{label}</Hint>
            <Text fw={650} fz="xl">
              {formatCount(value)}
            </Text>
          </div>
        ))}
      </SimpleGrid>
      {report.ignoredColumns.length > 0 && (
        <Alert color="orange">
          {formatMessage(t.catalogue.ignoredColumns, { columns: report.ignoredColumns.join(', ') })}
        </Alert>
      )}
      {report.unknownSuppliers.length > 0 && (
        <Alert color="orange">
          {formatMessage(t.catalogue.unknownSuppliers, { names: report.unknownSuppliers.join(', ') })}
        </Alert>
      )}
      {report.errors.length > 0 ? (
        <>
          <Alert color="red">
            <Group justify="space-between">
              {t.catalogue.withErrors}
              <Button
                size="xs"
                variant="default"
                onClick={() => saveFile('import-errors.csv', errorFile(report.errors), 'text/csv')}
              >
                {t.catalogue.downloadErrors}
              </Button>
            </Group>
          </Alert>
          <List
            label={t.catalogue.errors}
            rows={[...report.errors]}
            idOf={(row) => `${row.row} ${row.column} ${row.reason}`}
            empty={{ title: t.catalogue.errors }}
            columns={[
              { accessor: 'row', title: t.catalogue.row },
              { accessor: 'packageCode', title: t.catalogue.package, cellsClassName: 'mono' },
              { accessor: 'column', title: t.catalogue.column },
              { accessor: 'value', title: t.catalogue.value, cellsClassName: 'break' },
              { accessor: 'reason', title: t.catalogue.problem },
            ]}
          />
        </>
      ) : (
        <>
          {report.doubtful > 0 && (
            <ErrorText>{formatMessage(t.catalogue.checkPrices, { count: report.doubtful })}</ErrorText>
          )}
          <List
            label={t.catalogue.change}
            rows={[...report.changes].sort((left, right) => Number(hasWarnings(right)) - Number(hasWarnings(left)))}
            idOf={(row) => row.packageCode}
            empty={{ title: t.catalogue.noChanges }}
            columns={[
              { accessor: 'packageCode', title: t.catalogue.package, cellsClassName: 'mono' },
              { accessor: 'change', title: t.catalogue.change, render: (row) => <ChangeDetails change={row} /> },
            ]}
          />
        </>
      )}
    </Card>
  )
}

function hasWarnings({ lines }: ImportReport['changes'][number]): boolean {
  return lines.some((line) => 'warnings' in line && line.warnings.length > 0)
}
