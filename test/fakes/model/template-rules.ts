/**
 * What chat templates and model servers refuse about the shape of a conversation, each rule with the words and the source
 * of the one that has it. Messages are as the wires carry them, both OpenAI's and Ollama's.
 */

/** The parts of a message that rules read. */
export interface RuledMessage {
  role: string;
  content?: unknown;
  tool_calls?: readonly { id?: string | undefined }[] | null | undefined;
  tool_call_id?: string | undefined;
}

/** Returns the refusal, or undefined for a conversation that is accepted. */
export type TemplateRule = (messages: readonly RuledMessage[]) => string | undefined;

const callsOf = ({ tool_calls: calls }: RuledMessage) => calls ?? [];
const withoutSystem = (messages: readonly RuledMessage[]) =>
  messages[0]?.role === 'system' ? messages.slice(1) : messages;

/** Qwen/Qwen3.5-4B chat_template.jinja (ggml-org/llama.cpp#20733); Ollama's renderer of qwen3.8 (ollama/ollama#17754). */
export const systemFirst: TemplateRule = (messages) =>
  withoutSystem(messages).some(({ role }) => role === 'system')
    ? 'System message must be at the beginning.'
    : undefined;

/** google/gemma-2-2b-it chat_template. */
export const noSystem: TemplateRule = (messages) =>
  messages[0]?.role === 'system' ? 'System role not supported' : undefined;

/**
 * mistralai/Mistral-Small-3.2-24B-Instruct-2506 chat_template.jinja: users and answers without calls alternate; results
 * and answers with calls are not counted.
 */
export const alternate: TemplateRule = (messages) => {
  const counted = withoutSystem(messages).filter(
    (message) => message.role === 'user' || (message.role === 'assistant' && callsOf(message).length === 0),
  );
  const wrong = counted.some(({ role }, index) => (role === 'user') !== (index % 2 === 0));
  return wrong
    ? 'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...'
    : undefined;
};

/** google/gemma-2-2b-it chat_template, which has no tools: every message counts. */
export const noTools: TemplateRule = (messages) =>
  withoutSystem(messages).some(({ role }, index) => (role === 'user') !== (index % 2 === 0))
    ? 'Conversation roles must alternate user/assistant/user/assistant/...'
    : undefined;

/** Mistral's API, code 3230 (openclaw/openclaw#33177, BerriAI/litellm#17761). */
export const orderOfTools: TemplateRule = (messages) => {
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    if (message.role === 'user' && before?.role === 'tool') return "Unexpected role 'user' after role 'tool'";
    if (message.role !== 'tool') continue;
    if (before?.role !== 'tool' && (before === undefined || callsOf(before).length === 0))
      return `Unexpected role 'tool' after role '${before?.role ?? 'none'}'`;
  }
  return undefined;
};

/** Mistral's API, code 3230, "Not the same number of function calls and responses" (mistralai/mistral-common validator.py). */
export const allResults: TemplateRule = (messages) => {
  for (const [index, message] of messages.entries()) {
    const calls = callsOf(message);
    const results = messages.slice(index + 1, index + 1 + calls.length);
    const ids = results.map(({ role, tool_call_id: id }) => (role === 'tool' ? id : undefined));
    if (calls.some(({ id }, nth) => ids[nth] === undefined || ids[nth] !== id))
      return 'Not the same number of function calls and responses';
  }
  return undefined;
};

/** mistralai/Mistral-Small-3.2-24B-Instruct-2506 chat_template.jinja; its API says the same of letters and digits. */
export const nineCharacterIds: TemplateRule = (messages) => {
  const ids = messages.flatMap((message) => [
    ...callsOf(message).map(({ id }) => id),
    ...(message.role === 'tool' ? [message.tool_call_id] : []),
  ]);
  return ids.every((id) => id !== undefined && /^[A-Za-z0-9]{9}$/.test(id))
    ? undefined
    : 'Tool call IDs should be alphanumeric strings with length 9!';
};

/** meta-llama/Llama-3.1-8B-Instruct chat_template. */
export const singleCalls: TemplateRule = (messages) =>
  messages.some((message) => callsOf(message).length > 1)
    ? 'This model only supports single tool-calls at once!'
    : undefined;

/** What every request keeps, whatever the server. */
export const STRICTEST: readonly TemplateRule[] = [
  systemFirst,
  alternate,
  orderOfTools,
  allResults,
  nineCharacterIds,
];

/** The refusals of a conversation by these rules. */
export function refusalsOf(messages: readonly RuledMessage[], rules = STRICTEST): string[] {
  return rules.flatMap((rule) => rule(messages) ?? []);
}
