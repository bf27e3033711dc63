import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { apiUrl, type Query } from '#api/call-api.ts'
import { t } from '#strings/strings.ts'

/** Downloads all rows of a list, with its filters. */
export function ExportCsv({ path, query }: { path: string; query?: Query }) {
  return (
    <Button
      component="a"
      href={apiUrl(`${path}.csv`, query).href}
      download
      variant="default"
      size="xs"
      leftSection={<IconDownload size={14} />}
    >
      {t.common.export}
    </Button>
  )
}
