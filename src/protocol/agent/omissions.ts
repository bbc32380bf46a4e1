/** Parts of a request that are left out, or written in another form, for a server that refuses them. */
import { inEnglish, textRef, type TextRef } from '../texts/say.ts';

/**
 * A part of a request that can be left out: a separate system role, full schemas, the tools of one MCP server, pictures
 * of the newest message that has some, all pictures, echoes of earlier answers, several tool calls in one message, the
 * native form of tools, all tools, or a field; or answers without thoughts and calls without signatures (stand-ins are
 * added).
 */
export type Omission = (typeof PARTS)[number] | `tools:${string}` | `field:${string}`;

const PARTS = [
  'system_role',
  'tool_schemas',
  'newest_pictures',
  'pictures',
  'echoes',
  'missing_thoughts',
  'missing_signatures',
  'parallel_calls',
  'tool_exchanges',
  'tools',
] as const;

/** What the server of a model is not sent now. */
export interface ModelOmissions {
  model: string;
  omissions: readonly Omission[];
}

const FIELD = 'field:';
const SERVER = 'tools:';

/** The name of the field, if the part is one. */
export function fieldOf(omission: Omission): string | undefined {
  return omission.startsWith(FIELD) ? omission.slice(FIELD.length) : undefined;
}

/** The name of the MCP server, if the part is its tools. */
export function mcpServerOf(omission: Omission): string | undefined {
  return omission.startsWith(SERVER) ? omission.slice(SERVER.length) : undefined;
}

/** What a server is not sent, as a sentence in English for operators. */
export function omissionSentence({ model, omissions }: ModelOmissions): string {
  const parts = omissions.map((omission) => inEnglish.text(omissionText(omission))).join('; ');
  return `The server of ${model} refuses parts of requests, and is not sent them: ${parts}.`;
}

/** What is missing, as an item of a list. */
export function omissionText(omission: Omission): TextRef {
  const part = PARTS.find((one) => one === omission);
  if (part !== undefined) return textRef(`omission.${part}`);
  const field = fieldOf(omission);
  if (field !== undefined) return textRef('omission.field', { field });
  return textRef('omission.server_tools', { server: omission.slice(SERVER.length) });
}

/** A window below this has room for little more than the system prompt and the tools, in tokens. */
export const SMALL_WINDOW = 8_192;

/** What to do about a small window. */
export const LARGER_WINDOW =
  'load the model with a larger window (llama-server: -c, vLLM: --max-model-len, LM Studio: Context Length), or set MODEL to another one';

/** What a small window costs; undefined for one that is large enough. */
export function smallWindowText(model: string, contextWindow: number): string | undefined {
  if (contextWindow >= SMALL_WINDOW) return undefined;
  return (
    `The window of ${model} is small (${contextWindow} tokens): it is offered only the most important tools directly and ` +
    'has to look the others up, and long chats are summarized after a few messages.'
  );
}
