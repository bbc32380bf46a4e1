/** Servers that refuse by a rule, and what a provider sends them. */
import type {
  ChatMessage,
  ChatRequest,
  LLMProvider,
  ToolSchema,
} from '../../../src/protocol/agent/provider.ts';
import type { Omission } from '../../../src/protocol/agent/omissions.ts';
import { createOllama } from '../../../src/providers/ollama/ollama.ts';
import { createOpenai } from '../../../src/providers/openai/openai.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import { type ServerRule, startStrictServer, type StrictServer } from '../../fakes/model/strict-server.ts';
import { never, question } from '../request.ts';
import { OLLAMA_SERVER, OPENAI_SERVER } from '../servers.ts';

const open: { close(): Promise<void> }[] = [];
/** Ends the servers and providers of a test. */
export async function closeAll(): Promise<void> {
  for (const thing of open.splice(0).toReversed()) await thing.close();
}

/** Stands for the words of all servers that nobody has met: they name nothing. */
export const UNKNOWN_WORDS = 'Rejected: E-1.';

interface Setup {
  rules: readonly ServerRule[];
  wire?: 'openai' | 'ollama';
  now?: () => number;
}

export async function setup({ rules, wire = 'openai', now }: Setup): Promise<{
  server: StrictServer;
  provider: LLMProvider;
  ask: (request: ChatRequest) => Promise<{ text: string; omitted: readonly Omission[]; calls: number }>;
}> {
  const server = await startStrictServer(rules, () => ({ text: 'Hello.' }));
  const clock = now && { monotonicNow: now };
  const provider =
    wire === 'openai'
      ? createOpenai({ ...OPENAI_SERVER, baseUrl: server.openaiUrl, ...clock })
      : createOllama({ ...OLLAMA_SERVER, baseUrl: server.ollamaUrl, ...clock });
  open.push(server, provider);
  return {
    server,
    provider,
    async ask(request) {
      let omitted: readonly Omission[] = [];
      const before = server.calls.length;
      const onOmissions = (parts: readonly Omission[]): void => void (omitted = parts);
      const { content } = await collectChat(provider.streamChat({ ...request, onOmissions }, never));
      return { text: content, omitted, calls: server.calls.length - before };
    },
  };
}

export const refuse =
  (when: (body: UpstreamBody) => boolean, words = UNKNOWN_WORDS, status = 400): ServerRule =>
  (body) =>
    when(body) ? { status, body: { error: { message: words } } } : undefined;

export const toolsIn = (body: UpstreamBody): { function: { name: string; parameters: unknown } }[] =>
  (body['tools'] as never) ?? [];
export const hasDefault = (body: UpstreamBody): boolean =>
  JSON.stringify(body['tools'] ?? '').includes('"default"');
export const hasTool = (body: UpstreamBody, name: string): boolean =>
  toolsIn(body).some((tool) => tool.function.name === name);
export const hasRole = (body: UpstreamBody, wanted: string): boolean =>
  body.messages.some(({ role }) => role === wanted);
export const picturesIn = (body: UpstreamBody): string[] =>
  JSON.stringify(body.messages).match(/base64,\w+/g) ?? [];

const parameters = {
  type: 'object',
  properties: { path: { type: 'string', default: '/', description: 'where' } },
  required: ['path'],
};
export const TOOLS: ToolSchema[] = [
  { name: 'list_dir', description: 'lists', parameters },
  { name: 'git__log', description: 'history', parameters: { type: 'object' }, server: 'git' },
  { name: 'web__get', description: 'fetches', parameters: { type: 'object' }, server: 'web' },
];

export const image = (base64: string) => ({ mimeType: 'image/png', base64 });
const EXCHANGE: ChatMessage[] = [
  { role: 'user', content: 'before' },
  {
    role: 'assistant',
    content: '',
    toolCalls: [
      { id: 'aaaaaaaa1', name: 'list_dir', args: { path: '/a' } },
      { id: 'aaaaaaaa2', name: 'list_dir', args: { path: '/b' } },
    ],
  },
  { role: 'tool', content: 'one', toolCallId: 'aaaaaaaa1', toolName: 'list_dir' },
  { role: 'tool', content: 'two', toolCallId: 'aaaaaaaa2', toolName: 'list_dir' },
  { role: 'assistant', content: 'There.' },
];

/** Everything that can be left out. */
export const full = (): ChatRequest => ({
  ...question('hi', { tools: TOOLS, think: true }),
  messages: [
    { role: 'system', content: 'Be brief.' },
    ...EXCHANGE,
    { role: 'user', content: 'look', images: [image('OLD')] },
    { role: 'assistant', content: 'I see.' },
    { role: 'user', content: 'and this', images: [image('NEW')] },
  ],
});
