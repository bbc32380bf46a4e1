/** `/prompt` starts a turn with a prompt of an MCP server that the person chooses. */
import { z } from 'zod';
import type { Command, CommandCall } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { McpPrompt } from '../protocol/agent/tool.ts';
import { ALL_MCP_TOOLS, type Profile, toolsOf } from '../protocol/agent/profile.ts';
import type { SessionKey } from '../protocol/message.ts';
import type { ForwardedMessage } from '../protocol/receive.ts';
import { textOfParts } from './content.ts';
import type { McpServer } from './server.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';

/** Longest text of a prompt, in UTF-16 units. */
export const MAX_PROMPT_CHARS = 50_000;
/** Longest wait for a server to return its prompt, in milliseconds. */
const PROMPT_MS = 30_000;

/** The profile that answers in this session. Throws `StoreError`. */
export type ProfileOf = (session: SessionKey) => Promise<Profile>;

const promptAnswer = z.looseObject({
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: z.unknown() })).max(100),
});

/** The command, listed while it `isOffered`, offers prompts of servers whose tools the session's profile has. */
export function createPromptCommand(
  servers: () => readonly McpServer[],
  isOffered: () => boolean,
  profileOf: ProfileOf,
): Command {
  const serversFor = async (session: SessionKey): Promise<McpServer[]> => {
    const names = toolsOf(await profileOf(session));
    return servers().filter(({ name }) =>
      names.some((tool) => tool === ALL_MCP_TOOLS || tool.startsWith(`${name}__`)),
    );
  };
  return {
    name: 'prompt',
    get unlisted() {
      return !isOffered();
    },
    description: 'about.prompt',
    argument: { name: 'prompt', label: 'word.prompt', description: 'argument.prompt', required: false },
    run: async ({ session, say }) => promptList(await serversFor(session), say),
    forward: async (call) =>
      call.args === '' ? undefined : await begin(await serversFor(call.session), call),
  };
}

function promptList(servers: readonly McpServer[], say: Say): string {
  const prompts = servers.flatMap((server) => server.prompts);
  if (prompts.length === 0) return say('prompt.none');
  return prompts
    .map((prompt) => `- ${usageOf(prompt, say)}: ${prompt.description || say('prompt.undescribed')}`)
    .join('\n');
}

/** `/prompt notes summary about=… [style=…]`. */
function usageOf({ server, name, arguments: parameters }: McpPrompt, say: Say): string {
  const words = parameters.map(({ name: argument, required }) =>
    required ? `${argument}=…` : `[${argument}=…]`,
  );
  return `\`${[say.command('prompt'), server, name, ...words].join(' ')}\``;
}

/** Throws `GatewayError`: `unknown_prompt`, `missing_argument`, or the server's. */
async function begin(servers: readonly McpServer[], { args, say }: CommandCall): Promise<ForwardedMessage> {
  const [serverName = '', promptName = '', ...words] = args.split(/\s+/);
  const server = servers.find(({ name }) => name === serverName);
  const prompt = server?.prompts.find(({ name }) => name === promptName);
  if (server === undefined || prompt === undefined) {
    throw new GatewayError('unknown_prompt', `${say('prompt.unknown')}\n${promptList(servers, say)}`);
  }
  const values = argumentsIn(words, prompt);
  const missing = prompt.arguments.filter(({ name, required }) => required && values[name] === undefined);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ');
    const text = textRef('prompt.missing', { names, usage: usageOf(prompt, say) });
    throw new GatewayError('missing_argument', text);
  }
  const params = { name: prompt.name, arguments: values };
  const { messages } = await server.ask('prompts/get', params, promptAnswer, AbortSignal.timeout(PROMPT_MS));
  const texts = messages.map(({ role, content }) => {
    const text = textOfParts([content]);
    return role === 'user' ? text : `(an answer as an example:)\n${text}`;
  });
  const content = texts.join('\n\n').slice(0, MAX_PROMPT_CHARS).toWellFormed();
  if (content.trim() === '') throw new GatewayError('empty_prompt', textRef('prompt.empty'));
  return { content, options: {}, prompt: { server: server.name, name: prompt.name } };
}

/** `name=` starts a value, which ends before the next one; without any name, all words are the only or first argument. */
function argumentsIn(words: readonly string[], { arguments: parameters }: McpPrompt): Record<string, string> {
  const values: Record<string, string> = {};
  let current = parameters[0]?.name;
  for (const word of words) {
    const at = word.indexOf('=');
    const argument = parameters.find(({ name }) => at > 0 && name === word.slice(0, at))?.name;
    const text = argument === undefined ? word : word.slice(at + 1);
    current = argument ?? current;
    if (current === undefined) continue;
    values[current] =
      argument === undefined && values[current] !== undefined ? `${values[current]} ${text}` : text;
  }
  return values;
}
