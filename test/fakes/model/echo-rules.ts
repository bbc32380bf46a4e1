/** What servers refuse about the fields of earlier answers: missing ones, and unknown ones. */
import type { ServerRule, StrictRefusal } from './strict-server.ts';
import type { UpstreamBody } from './scripted-upstream.ts';

type Message = UpstreamBody['messages'][number];

const hasCalls = (message: Message): boolean => Array.isArray(message['tool_calls']);

/** DeepSeek's form of an error (deepseek-ai/DeepSeek-V3#1053). */
const deepseek = (message: string): StrictRefusal => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' } },
});

/** DeepSeek V3.2: thoughts go back with the calls they led to (deepseek-ai/DeepSeek-V3#1053). */
export const thoughtsOfCalls: ServerRule = ({ messages }) => {
  const at = messages.findIndex(
    (message) => hasCalls(message) && typeof message['reasoning_content'] !== 'string',
  );
  if (at === -1) return undefined;
  const guide = 'https://api-docs.deepseek.com/guides/thinking_mode#tool-calls';
  return deepseek(
    `Missing \`reasoning_content\` field in the assistant message at message index ${at}. For more information, please refer to ${guide}`,
  );
};

/** DeepSeek V4: every answer has the field, even empty (openclaw/openclaw#73417, MoonshotAI/kimi-cli#2141). */
export const thoughtsOfAll: ServerRule = ({ messages }) =>
  messages.some(({ role, reasoning_content: thought }) => role === 'assistant' && typeof thought !== 'string')
    ? deepseek('The `reasoning_content` in the thinking mode must be passed back to the API.')
    : undefined;

/**
 * Gemini 3: the first call of each answer since the last message of the user has its signature
 * (ai.google.dev/gemini-api/docs/thought-signatures; the form of the error: Gitlawb/openclaude#67).
 */
export const signatures: ServerRule = ({ messages }) => {
  const from = messages.findLastIndex(({ role }) => role === 'user') + 1;
  const at = messages.findIndex((message, index) => index >= from && hasCalls(message) && !isSigned(message));
  if (at === -1) return undefined;
  const message =
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, ' +
    `and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:tool\` , position ${at}.`;
  return { status: 400, body: [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }] };
};

function isSigned(message: Message): boolean {
  const calls: unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  return /"extra_content":\{"google":\{"thought_signature":"[^"]+"/.test(JSON.stringify(calls[0]));
}

/** Groq refuses `reasoning_content` (tashfeenahmed/freellmapi#1070, AstrBotDevs/AstrBot#5946). */
export const noThoughts: ServerRule = ({ messages }) => {
  const at = messages.findIndex((message) => 'reasoning_content' in message);
  if (at === -1) return undefined;
  const message = `'messages.${at}' : for 'role:assistant' the following must be satisfied[('messages.${at}' : property 'reasoning_content' is unsupported)]`;
  return { status: 400, body: { error: { message, type: 'invalid_request_error' } } };
};
