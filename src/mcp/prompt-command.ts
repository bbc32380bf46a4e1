/** `/prompt` starts a turn with a prompt of an MCP server that the person chooses. */
import { z } from 'zod';
import type { Command, CommandCall } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { McpPrompt } from '../protocol/agent/tool.ts';
import { ALL_MCP_TOOLS, type Profile, toolsOf } from '../protocol/agent/profile.ts';
import type { SessionKey } from '../protocol/message.ts';
import type { PassedOn } from '../protocol/receive.ts';
import { textOfParts } from './content.ts';
import type { McpServer } from './server.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';

/** Longest text of a prompt, in UTF-16 units. */
export const MAX_PROMPT_CHARS = 50_000;
/** Longest wait for a server to return its prompt, in milliseconds. */
const PROMPT_MS = 30_000;

export interface PromptCommandDeps {
  servers(): readonly McpServer[];
  /** Some are configured now; if there are none, the command is not listed. */
  isOffered(): boolean;
  /** The profile that answers in this session. Throws `StoreError`. */
  profileOf(session: SessionKey): Promise<Profile>;
}

const given = z.looseObject({
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant']), content: z.unknown() })).max(100),
});

/** Creates the command. Only prompts of servers whose tools the session's profile has can be chosen. */
export function createPromptCommand(deps: PromptCommandDeps): Command {
  return {
    name: 'prompt',
    get unlisted() {
      return !deps.isOffered();
    },
    description: 'about.prompt',
    argument: { name: 'prompt', label: 'word.prompt', description: 'argument.prompt', required: false },
    run: async (call) => {
      const servers = await usable(deps, call.session);
      return listed(
        servers.flatMap((server) => server.prompts),
        call.say,
      );
    },
    passOn: async (call) => (call.args === '' ? undefined : await begin(deps, call)),
  };
}

async function usable(deps: PromptCommandDeps, session: SessionKey): Promise<McpServer[]> {
  const names = toolsOf(await deps.profileOf(session));
  const has = ({ name }: McpServer): boolean =>
    names.some((tool) => tool === ALL_MCP_TOOLS || tool.startsWith(`${name}__`));
  return deps.servers().filter(has);
}

function listed(prompts: readonly McpPrompt[], say: Say): string {
  if (prompts.length === 0) return say('prompt.none');
  return prompts
    .map((prompt) => `- ${usageOf(prompt, say)}: ${prompt.description || say('prompt.undescribed')}`)
    .join('\n');
}

/** `/prompt notes summary about=… [style=…]`. */
function usageOf({ server, name, arguments: known }: McpPrompt, say: Say): string {
  const words = known.map(({ name: argument, required }) => (required ? `${argument}=…` : `[${argument}=…]`));
  return `\`${[say.command('prompt'), server, name, ...words].join(' ')}\``;
}

/** Throws `GatewayError`: `unknown_prompt`, `missing_argument`, or the server's. */
async function begin(deps: PromptCommandDeps, { session, args, say }: CommandCall): Promise<PassedOn> {
  const [serverName = '', promptName = '', ...words] = args.split(/\s+/);
  const servers = await usable(deps, session);
  const server = servers.find(({ name }) => name === serverName);
  const prompt = server?.prompts.find(({ name }) => name === promptName);
  if (server === undefined || prompt === undefined) {
    const prompts = servers.flatMap((one) => one.prompts);
    throw new GatewayError('unknown_prompt', `${say('prompt.unknown')}\n${listed(prompts, say)}`);
  }
  const values = argumentsIn(words, prompt);
  const missing = prompt.arguments.filter(({ name, required }) => required && values[name] === undefined);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ');
    throw new GatewayError(
      'missing_argument',
      textRef('prompt.missing', { names, usage: usageOf(prompt, say) }),
    );
  }
  const params = { name: prompt.name, arguments: values };
  const { messages } = await server.ask('prompts/get', params, given, AbortSignal.timeout(PROMPT_MS));
  const texts = messages.map(({ role, content }) => {
    const text = textOfParts([content]);
    return role === 'user' ? text : `(an answer as an example:)\n${text}`;
  });
  const content = texts.join('\n\n').slice(0, MAX_PROMPT_CHARS).toWellFormed();
  if (content.trim() === '') throw new GatewayError('empty_prompt', textRef('prompt.empty'));
  return { content, options: {}, prompt: { server: server.name, name: prompt.name } };
}

/** `name=` starts a value, which ends before the next one; without any name, all words are the only or first argument. */
function argumentsIn(words: readonly string[], { arguments: known }: McpPrompt): Record<string, string> {
  const values: Record<string, string> = {};
  let current = known[0]?.name;
  for (const word of words) {
    const at = word.indexOf('=');
    const named = known.find(({ name }) => at > 0 && name === word.slice(0, at))?.name;
    const text = named === undefined ? word : word.slice(at + 1);
    current = named ?? current;
    if (current === undefined) continue;
    values[current] =
      named === undefined && values[current] !== undefined ? `${values[current]} ${text}` : text;
  }
  return values;
}
