import type { PlanRule } from '@dealer-esim/gateway/http/console/prices/plan-rule.ts'
import type { RulePreview } from '@dealer-esim/gateway/http/console/prices/price-plans.ts'
import { Button, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { isCurrencyCode } from '#parts/form-values.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { apiPath } from './plan-or-group.tsx'
import { ShownPreview, submitProps } from './plan-rule-preview.tsx'
import { packagesText, valueText } from './plan-rule-text.ts'

const KEY_MEMBERS = ['packageCode', 'locationCode', 'supplier', 'currencyCode', 'validFrom'] as const

/** Removes a rule, after showing what that changes. */
export function RemoveRule({ planName, rule }: { planName: string; rule: PlanRule }) {
  const [open, setOpen] = useState(false)
  const title = formatMessage(t.prices.removeRule, { what: `${packagesText(rule)}, ${valueText(rule)}` })
  return (
    <>
      <Button size="compact-xs" variant="default" aria-label={title} onClick={() => setOpen(true)}>
        {t.prices.remove}
      </Button>
      {open && <RemoveDialog planName={planName} rule={rule} title={title} onClose={() => setOpen(false)} />}
    </>
  )
}

function RemoveDialog(props: { planName: string; rule: PlanRule; title: string; onClose(): void }) {
  const { planName, rule, title, onClose } = props
  const path = apiPath('plan', planName)
  const remove = useChange({ success: t.prices.removed, quiet: true })
  const preview = useChange<RulePreview>({ quiet: true })
  const [currency, setCurrency] = useState(rule.currencyCode ?? 'USD')
  const [currencyError, setCurrencyError] = useState<string>()
  const key = Object.fromEntries(KEY_MEMBERS.flatMap((name) => (rule[name] === null ? [] : [[name, rule[name]]])))
  function showPreview() {
    const currencyCode = currency.trim().toUpperCase()
    setCurrencyError(isCurrencyCode(currencyCode) ? undefined : t.prices.currencyInvalid)
    if (isCurrencyCode(currencyCode))
      preview.mutate({ method: 'POST', path: `${path}/removal-preview`, body: { rule: key, currencyCode } })
  }
  return (
    <Dialog
      title={title}
      opened
      size="xl"
      onClose={onClose}
      submit={submitProps(t.prices.remove, preview.data).submit}
      danger
      busy={remove.isPending}
      error={remove.error ?? preview.error}
      onSubmit={() =>
        remove.mutate({ method: 'DELETE', path: `${path}/rules?${new URLSearchParams(key)}` }, { onSuccess: onClose })
      }
    >
      <Text size="sm">{t.prices.removeRuleText}</Text>
      <Group align="flex-end">
        <TextInput
          label={t.prices.previewCurrency}
          value={currency}
          maxLength={3}
          error={currencyError}
          w={220}
          // A price is in one currency.
          disabled={rule.currencyCode !== null}
          onChange={(event) => {
            setCurrency(event.currentTarget.value)
            preview.reset()
          }}
          data-autofocus
        />
        <Button variant="default" loading={preview.isPending} onClick={showPreview}>
          {t.prices.preview}
        </Button>
      </Group>
      {preview.data && !preview.isPending && <ShownPreview preview={preview.data} />}
    </Dialog>
  )
}
