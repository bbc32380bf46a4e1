/** Tool calls and their results in a request: in pairs, in order, under ids that every template accepts. */
import { hash } from 'node:crypto';
import { betweenMarks, NO_INSTRUCTION, stableMarkCode, titleOf } from '../protocol/sessions/marked-text.ts';
import type { ChatMessage, ToolCall } from '../protocol/agent/provider.ts';

export type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;
export type ToolMessage = Extract<ChatMessage, { role: 'tool' }>;

/** An answer with tool calls; `results` has one for each call, in their order. */
export interface Exchange {
  role: 'exchange';
  answer: AssistantMessage;
  calls: readonly ToolCall[];
  results: (ToolMessage | undefined)[];
}

/** A message that is no part of an exchange. */
type Other = Exclude<ChatMessage, ToolMessage>;

/** What a model reads where the result of its call never came. */
export const NO_RESULT = 'No result: the call was interrupted before it returned.';

/**
 * Puts results to their calls: clients send them in the order in which tools end, but some templates pair by position.
 * A result without a call becomes a text.
 */
export function pairResults(messages: readonly ChatMessage[]): (Exchange | Other)[] {
  const paired: (Exchange | Other)[] = [];
  const openCalls = new Map<string, { exchange: Exchange; index: number }[]>();
  for (const message of messages) {
    if (message.role === 'tool') {
      const open = openCalls.get(message.toolCallId)?.shift();
      if (open === undefined)
        paired.push({ role: 'user', content: resultText(message.toolName, message.content) });
      else open.exchange.results[open.index] = message;
    } else if (message.role === 'assistant' && message.toolCalls?.[0] !== undefined) {
      const calls = message.toolCalls;
      const exchange: Exchange = { role: 'exchange', answer: message, calls, results: [] };
      // An id that is used again belongs to the newest call.
      for (const { id } of calls) openCalls.set(id, []);
      for (const [index, { id }] of calls.entries()) openCalls.get(id)?.push({ exchange, index });
      paired.push(exchange);
    } else paired.push(message);
  }
  return paired;
}

/** The messages of an exchange as servers take them; with `single`, each call has an answer of its own. */
export function nativeExchange(
  { answer, calls, results }: Exchange,
  idOf: (id: string) => string,
  single: boolean,
): (AssistantMessage | ToolMessage)[] {
  const pairs = calls.map((call, index): [ToolCall, ToolMessage] => {
    // What goes back to a server names its calls by the ids that it gave them.
    const id = answer.echo?.fields === undefined ? idOf(call.id) : call.id;
    const result = results[index];
    const content = result?.content ?? NO_RESULT;
    return [
      { ...call, id },
      { role: 'tool', content, toolCallId: id, toolName: result?.toolName ?? call.name },
    ];
  });
  if (!single) {
    const toolCalls = pairs.map(([call]) => call);
    return [{ ...answer, toolCalls }, ...pairs.map(([, result]) => result)];
  }
  return pairs.flatMap(([call, result], index) => [
    { ...answer, content: index === 0 ? answer.content : '', toolCalls: [call] },
    result,
  ]);
}

/** An exchange as text, for models that have no tools: what was called, and what came back. */
export function textExchange({ answer, calls, results }: Exchange): [AssistantMessage, ChatMessage] {
  const { toolCalls: _, ...rest } = answer;
  const lines = calls.map(({ name, args }) => `(called the tool ${name} with ${JSON.stringify(args)})`);
  const texts = calls.map(({ name }, index) => {
    const result = results[index];
    return resultText(result?.toolName ?? name, result?.content ?? NO_RESULT);
  });
  return [
    { ...rest, content: [answer.content, ...lines].filter((text) => text !== '').join('\n') },
    { role: 'user', content: texts.join('\n\n') },
  ];
}

/** A result in the role of a user: between marks, because it is not what the person says. */
function resultText(toolName: string, content: string): string {
  return betweenMarks(
    stableMarkCode(content),
    `result of the tool ${titleOf(toolName)}. ${NO_INSTRUCTION}`,
    content,
  );
}

/**
 * The form that all templates accept: Mistral refuses any other ("Tool call IDs should be alphanumeric strings with
 * length 9!", mistralai/Mistral-Small-3.2-24B-Instruct-2506 chat_template.jinja).
 */
const LEGAL_ID = /^[A-Za-z0-9]{9}$/;
const ID_CHARS = 9;

/** Makes the function that gives each call of one request its id: always the same for the same history, never twice. */
export function createCallIds(): (id: string) => string {
  const usedIds = new Set<string>();
  return (id) => {
    let legal = LEGAL_ID.test(id) ? id : shortHash(id);
    for (let nth = 1; usedIds.has(legal); nth += 1) legal = shortHash(`${id} ${nth}`);
    usedIds.add(legal);
    return legal;
  };
}

function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, ID_CHARS);
}
