/** The prompt of a model call as stored for the trace: of limited size, and without secrets. */
import { clipMiddle } from '../../lib/text.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatMessage, ChatRequest } from '../model/provider.ts';

/** Longest stored text of one message, in UTF-16 units; longer for the system prompt. */
export const MAX_PROMPT_MESSAGE_CHARS = 1_500;
export const MAX_PROMPT_SYSTEM_CHARS = 8_000;
/** Stored messages after the system prompt: the newest ones. */
export const MAX_PROMPT_MESSAGES = 24;
/** Tools that are kept by name. */
export const MAX_PROMPT_TOOLS = 200;

/** One message of a prompt. */
export interface PromptMessage {
  role: ChatMessage['role'];
  /** Estimated tokens of the whole message. */
  tokens: number;
  /** Its text, with tool calls; for a long one the beginning and the end. */
  content: string;
}

/** What was sent to the model in the newest call of an attempt. */
export interface SentPrompt {
  /** Which answer of the turn, from 1. */
  iteration: number;
  model: string;
  messages: PromptMessage[];
  /** Messages between the system prompt and the kept ones. */
  omitted: number;
  tools: { name: string; tokens: number }[];
}

/** Replaces secrets in a text. Never throws. */
export type Redact = (text: string) => string;

/** The prompt within its limits; `redact` sees every text before it is cut. Never throws. */
export function sentPrompt(
  { iteration, request }: { iteration: number; request: ChatRequest },
  redact: Redact,
): SentPrompt {
  const { model, messages, tools = [] } = request;
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : [];
  const others = messages.slice(system.length);
  const kept = others.slice(-MAX_PROMPT_MESSAGES);
  return {
    iteration,
    model,
    messages: [
      ...system.map((message) => promptMessage(message, MAX_PROMPT_SYSTEM_CHARS, redact)),
      ...kept.map((message) => promptMessage(message, MAX_PROMPT_MESSAGE_CHARS, redact)),
    ],
    omitted: others.length - kept.length,
    tools: sentTools(tools),
  };
}

/** The tools by the list that offers them: it is the same for all turns of a profile. */
const toolsByList = new WeakMap<readonly object[], SentPrompt['tools']>();

function sentTools(list: NonNullable<ChatRequest['tools']>): SentPrompt['tools'] {
  const known = toolsByList.get(list);
  if (known !== undefined) return known;
  const tools = list.slice(0, MAX_PROMPT_TOOLS).map((tool) => ({
    name: tool.name,
    tokens: estimateTokens(JSON.stringify(tool)),
  }));
  toolsByList.set(list, tools);
  return tools;
}

function promptMessage(message: ChatMessage, chars: number, redact: Redact): PromptMessage {
  const text = textOf(message);
  return { role: message.role, tokens: estimateTokens(text), content: clipMiddle(redact(text), chars) };
}

/** What the model reads in a message: its text, calls with their arguments, and how many pictures. */
function textOf(message: ChatMessage): string {
  switch (message.role) {
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ name, args }) => `${name}(${JSON.stringify(args)})`);
      return [message.content, ...calls].filter(Boolean).join('\n');
    }
    case 'user': {
      const pictures = message.images?.length ?? 0;
      return pictures === 0 ? message.content : `${message.content}\n[${pictures} × image]`;
    }
    case 'tool':
      return `${message.toolName}: ${message.content}`;
    default:
      return message.content;
  }
}
