import { codes, isCode } from '@dealer-esim/contract'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type ZodRawShape, z } from 'zod'
import type { DealerEsim } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { printable } from '../output.ts'
import type { ConfirmationKey } from './confirmation.ts'

/** What the tools work with. */
export interface Agent {
  server: McpServer
  esim: DealerEsim
  key: ConfirmationKey
  nowMs(): number
}

export interface ToolText {
  name: string
  description: string
  /** `buys` and `cancels` change something; the others only read. */
  effect?: 'buys' | 'cancels'
}

/** A refusal by a tool, before the gateway was asked. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal'
}

/** Adds a tool. Unknown members are refused, as by the gateway. The answer is one JSON text. */
export function addTool<Shape extends ZodRawShape>(
  { server }: Pick<Agent, 'server'>,
  { name, description, effect }: ToolText,
  shape: Shape,
  work: (input: z.infer<z.ZodObject<Shape>>) => Promise<object>,
): void {
  const annotations = {
    readOnlyHint: effect === undefined,
    destructiveHint: effect !== undefined,
    idempotentHint: true,
    openWorldHint: false,
  }
  const inputSchema = z.strictObject(shape)
  server.registerTool<z.ZodObject, z.ZodObject>(name, { description, inputSchema, annotations }, async (input) => {
    try {
      return answer(await work(input as z.infer<z.ZodObject<Shape>>))
    } catch (error) {
      return { ...answer(failureOf(error, effect !== undefined)), isError: true }
    }
  })
}

function answer(value: object) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] }
}

function failureOf(error: unknown, changes: boolean): object {
  if (error instanceof ToolRefusal) return { refused: error.message }
  if (!(error instanceof DealerEsimError)) return { failed: `Unexpected: ${error}`, ...(changes && REPEAT) }
  const { code, message, details, outcomeUnknown, retryAfterS, data } = error
  return {
    ...{ code, message: printable(message), details, retryAfterS },
    ...(isCode(code) && { remedy: codes[code].remedy }),
    ...{ scope: data.scope, operation: data.operation },
    ...(changes && outcomeUnknown && REPEAT),
  }
}

const REPEAT = {
  outcome: 'Unknown. Call the tool again with the same confirmation: it finds out, and never buys or cancels twice.',
}
