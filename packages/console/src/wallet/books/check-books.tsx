import type { BooksResult, Finding } from '@dealer-esim/contract'
import {
  LIST_FINDINGS,
  MalformedOrders,
  type OwnOrder,
  parseOwnOrders,
  verifyBooksFile,
  verifyBooksHead,
} from '@dealer-esim/contract'
import type { BooksView } from '@dealer-esim/gateway/http/console/wallet/books.ts'
import { Anchor, Button, FileInput, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { apiRequest, apiUrl, call, consoleBase, errorFrom, isTestMode } from '#api/call-api.ts'
import { StateSentence } from '#design/record.tsx'
import { formatCount, formatDateTime } from '#parts/format.ts'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Facts, Hint, TechnicalDetails, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'
import { linesOf } from './file-lines.ts'
import { knownSizeOf, loadRemembered, type RememberedBooks, remember } from './remembered-books.ts'

const texts = t.books

/** The page *Check my books*: compares the ledger with what this browser saw before. */
export function CheckBooksPage() {
  const { tenantId } = useTenant()
  // As it was when the page opened: a check then replaces what is kept, not what it is compared with.
  const [remembered] = useState(() => loadRemembered(tenantId))
  const shown = useShownBooks(tenantId, remembered)
  const check = useCheck(tenantId, remembered)
  if (shown.error) return <LoadError error={shown.error} retry={shown.refetch} />
  if (shown.data === undefined) return <Loading />
  const { books, result } = shown.data
  const last = check.result ?? result
  return (
    <DealerSection title={texts.title} text={texts.intro}>
      <Verdict result={last} remembered={remembered} isWhole={check.result !== undefined} />
      <Card title={texts.checkTitle}>
        <Hint>{texts.checkText}</Hint>
        <FileInput
          label={texts.orders}
          description={texts.ordersHint}
          placeholder={texts.chooseFile}
          accept=".csv,text/csv"
          clearable
          value={check.file}
          onChange={check.chooseFile}
          error={check.fileError}
        />
        <Group>
          <Button onClick={() => void check.run()} loading={check.isRunning}>
            {texts.check}
          </Button>
          {books && (
            <>
              <Anchor href={apiUrl(`/tenants/${tenantId}/books/file`).href} size="sm" download>
                {texts.download}
              </Anchor>
              <Anchor href={new URL('verify-books.html', consoleBase).href} size="sm" target="_blank" rel="noopener">
                {texts.offline}
              </Anchor>
            </>
          )}
        </Group>
        {check.failure && (
          <Text c="var(--bad)" role="alert">
            {check.failure}
          </Text>
        )}
      </Card>
      {books && (
        <Checkpoint shown={checkedOf(check.result) ?? books} remembered={loadRemembered(tenantId) ?? remembered} />
      )}
    </DealerSection>
  )
}

/** The newest checkpoint, verified against what this browser remembers. The first one is remembered without a comparison. */
function useShownBooks(tenantId: string, remembered: RememberedBooks | undefined) {
  return useQuery({
    queryKey: [`/tenants/${tenantId}/books`, remembered?.note],
    queryFn: async ({ signal }) => {
      const query = remembered && { knownSize: knownSizeOf(remembered) }
      const { books } = await call<{ books: BooksView | null }>('GET', `/tenants/${tenantId}/books`, { query, signal })
      if (books === null) return { books, result: undefined }
      const result = await verifyBooksHead(books, remembered, isTestMode)
      rememberEqual(tenantId, result)
      return { books, result }
    },
  })
}

function rememberEqual(tenantId: string, { verdict, trusted }: BooksResult): void {
  if (verdict !== 'EQUAL' || trusted === undefined) return
  const { pinnedKey, note } = trusted
  remember(tenantId, { pinnedKey, note, checkedAt: new Date().toISOString() })
}

/** Reads every entry and checks it, in the browser. */
function useCheck(tenantId: string, remembered: RememberedBooks | undefined) {
  const [file, setFile] = useState<File | null>(null)
  const [fileError, setFileError] = useState<string>()
  const [failure, setFailure] = useState<string>()
  const [isRunning, setRunning] = useState(false)
  const [result, setResult] = useState<BooksResult>()
  async function run() {
    setFailure(undefined)
    setFileError(undefined)
    setRunning(true)
    try {
      const orders = file === null ? undefined : await readOrders(file)
      await call('POST', `/tenants/${tenantId}/books/checkpoints`) // of everything so far
      const checked = await checkFile(tenantId, remembered, orders)
      rememberEqual(tenantId, checked)
      setResult(checked)
    } catch (error) {
      if (error instanceof MalformedOrders) setFileError(textOf(error))
      else setFailure((error as Error).message)
    } finally {
      setRunning(false)
    }
  }
  function chooseFile(chosen: File | null) {
    setFile(chosen)
    setFileError(undefined)
  }
  return { file, fileError, failure, isRunning, result, run, chooseFile }
}

async function readOrders(file: File): Promise<OwnOrder[]> {
  return parseOwnOrders(await file.text(), file.name)
}

async function checkFile(
  tenantId: string,
  remembered: RememberedBooks | undefined,
  orders: OwnOrder[] | undefined,
): Promise<BooksResult> {
  const query = remembered && { knownSize: knownSizeOf(remembered) }
  const { url, headers } = apiRequest(`/tenants/${tenantId}/books/file`, query)
  const response = await fetch(url, { headers, credentials: 'same-origin' })
  if (!response.ok || response.body === null) throw errorFrom(response.status, await response.text())
  return verifyBooksFile(linesOf(response.body), {
    isTest: isTestMode,
    ...(remembered && { remembered }),
    ...(orders && { orders }),
  })
}

interface VerdictProps {
  result: BooksResult | undefined
  remembered: RememberedBooks | undefined
  /** True if every entry was checked, not only the checkpoint. */
  isWhole: boolean
}

function Verdict({ result, remembered, isWhole }: VerdictProps) {
  if (result === undefined) return <StateSentence tone="off" title={texts.none} text={texts.noneText} />
  const { verdict, finding, trusted } = result
  if (verdict === 'DIFFERS') {
    const title = finding && LIST_FINDINGS.has(finding.id) ? texts.listDiffers : texts.differs
    return <StateSentence tone="bad" title={title} text={finding && textOf(finding)} />
  }
  if (verdict === 'CANNOT_TELL' || trusted === undefined)
    return <StateSentence tone="warn" title={texts.cannotTell} text={finding && textOf(finding)} />
  const { checkpoint, last, restoredAt } = trusted
  if (restoredAt !== undefined)
    return (
      <StateSentence
        tone="warn"
        title={formatMessage(texts.restored, { entry: restoredAt })}
        text={texts.restoredText}
      />
    )
  const title = isWhole
    ? formatMessage(texts.equal, { count: checkpoint.treeSize })
    : formatMessage(texts.covered, { count: checkpoint.treeSize })
  const since = last && remembered && formatMessage(texts.consistent, { time: formatDateTime(last.createTime) })
  return <StateSentence tone="ok" title={title} text={since ?? texts.first} />
}

function textOf({ id, values }: Pick<Finding, 'id' | 'values'>): string {
  return formatMessage(texts.findings[id], values)
}

/** The checkpoint that the check has made, which is newer than the one that the page loaded. */
function checkedOf(result: BooksResult | undefined) {
  return result?.verdict === 'EQUAL' ? result.trusted : undefined
}

interface CheckpointProps {
  shown: Pick<BooksView, 'checkpoint' | 'note'>
  remembered: RememberedBooks | undefined
}

function Checkpoint({ shown, remembered }: CheckpointProps) {
  const { treeSize, createTime, rootHash } = shown.checkpoint
  return (
    <Card title={texts.checkpoint}>
      <Facts
        items={[
          [texts.entries, formatCount(treeSize)],
          [texts.signed, <Timestamp key="signed" time={createTime} />],
          [texts.lastCheck, remembered ? <Timestamp key="last" time={remembered.checkedAt} /> : texts.never],
        ]}
      />
      <TechnicalDetails
        items={[
          [texts.root, rootHash],
          [texts.note, shown.note],
        ]}
      />
    </Card>
  )
}
