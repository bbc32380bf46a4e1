/** Parts of a request that are left out, or written in another form, for a server that refuses them. */
import { inEnglish, textRef, type TextRef } from '../texts/say.ts';

/**
 * A part of a request that can be left out: a separate system role, full schemas, the tools of one MCP server, pictures
 * of the newest message that has some, all pictures, echoes of earlier answers, several tool calls in one message, the
 * native form of tools, all tools, or a field; or answers without thoughts and calls without signatures (stand-ins are
 * added).
 */
export type Omission =
  | 'system_role'
  | 'tool_schemas'
  | `tools:${string}`
  | 'newest_pictures'
  | 'pictures'
  | 'echoes'
  | 'missing_thoughts'
  | 'missing_signatures'
  | 'parallel_calls'
  | 'tool_exchanges'
  | 'tools'
  | `field:${string}`;

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
  switch (omission) {
    case 'system_role':
      return textRef('omission.system_role');
    case 'tool_schemas':
      return textRef('omission.tool_schemas');
    case 'newest_pictures':
      return textRef('omission.newest_pictures');
    case 'pictures':
      return textRef('omission.pictures');
    case 'echoes':
      return textRef('omission.echoes');
    case 'missing_thoughts':
      return textRef('omission.missing_thoughts');
    case 'missing_signatures':
      return textRef('omission.missing_signatures');
    case 'parallel_calls':
      return textRef('omission.parallel_calls');
    case 'tool_exchanges':
      return textRef('omission.tool_exchanges');
    case 'tools':
      return textRef('omission.tools');
    default:
      return omission.startsWith(FIELD)
        ? textRef('omission.field', { field: omission.slice(FIELD.length) })
        : textRef('omission.server_tools', { server: omission.slice(SERVER.length) });
  }
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
