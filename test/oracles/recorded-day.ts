/** A day of turns: the request bodies that a whole gateway sends for everything people, clients and failures make of it. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { vi } from 'vitest';
import { z } from 'zod';
import { FACTS_REQUEST } from '../../src/agent/after-turn/facts-worker.ts';
import { TITLE_REQUEST } from '../../src/agent/after-turn/title-worker.ts';
import { ToolError } from '../../src/protocol/errors.ts';
import { defineTool, type Tool } from '../../src/protocol/agent/tool.ts';
import { png } from '../fakes/files/documents.ts';
import { startStrictServer, type StrictAnswer, type StrictServer } from '../fakes/model/strict-server.ts';
import type { UpstreamBody } from '../fakes/model/scripted-upstream.ts';
import { lastNote, lastUserText } from '../fakes/model/spoken-text.ts';
import { FRIENDS, type GatewayFixture, openGatewayFixture, WAIT } from '../flows/setup.ts';
import { COMPLETIONS, FORCED_CALLS, RESPONSES } from './client-requests.ts';

/** One request as it was sent, and what it was sent for. */
export interface RecordedRequest {
  name: string;
  body: UpstreamBody;
}

const LONG = 'lorem ipsum dolor '.repeat(200);
const LOOK = { name: 'list_dir', args: { path: '.' } };

/** What the model answers; a message names what should happen. */
function answer(body: UpstreamBody): StrictAnswer {
  const asked = lastUserText(body);
  const note = lastNote(body);
  const isAfterTool = body.messages.at(-1)?.role === 'tool';
  if (asked === TITLE_REQUEST) return { text: 'A title' };
  if (asked.startsWith(FACTS_REQUEST.slice(0, 40))) return { text: '- She lives in Oslo.' };
  if (asked.includes('Write its summary now')) return { text: 'They talked.' };
  const planning = planningAnswer(note);
  if (planning !== undefined) return planning;
  if (asked.includes('This step is one call of the tool'))
    return { toolCalls: [{ name: 'flaky', args: {} }] };
  if (asked.includes('"action"')) return { text: '{"action": "skip", "reason": "It is not needed."}' };
  if (isAfterTool && asked.includes('break')) {
    return { refusal: { status: 402, body: { error: { message: 'Insufficient balance', code: 402 } } } };
  }
  if (isAfterTool) return { text: 'I have looked.' };
  if (asked.includes('look twice')) return { text: 'Looking.', toolCalls: [LOOK, LOOK] };
  if (asked.includes('look')) return { toolCalls: [LOOK] };
  if (asked.includes('wait here')) return { toolCalls: [{ name: 'pause', args: {} }] };
  if (asked.includes('hand it over'))
    return { toolCalls: [{ name: 'spawn_agent', args: { task: 'a small task' } }] };
  return { text: body['format'] === undefined ? 'Fine.' : '{"city": "Oslo"}' };
}

/** The three phases of a plan, by the instruction in the note. */
function planningAnswer(note: string): StrictAnswer | undefined {
  if (note.includes('write the plan by which'))
    return { text: 'Steps\n1. [TOOL: flaky] Wash it\n2. [SELF] Dry it' };
  if (note.includes('Plan Adjustments')) return { text: 'Critic: none.\nPlan Adjustments: none.' };
  return note.includes('REFLECT') ? { text: 'Two steps.\nREFLECT: yes' } : undefined;
}

/** The run of the tool `pause` that waits; the day ends it. */
interface Paused {
  release?: (() => void) | undefined;
}

/** A tool that waits until the day goes on, and one that always fails. */
function toolsOfTheDay(paused: Paused): Tool[] {
  const base = {
    parameters: z.strictObject({}),
    effect: 'pure' as const,
    reach: () => 'session' as const,
    risk: () => 'safe' as const,
    results: 'operator' as const,
  };
  const pause = defineTool({
    ...base,
    name: 'pause',
    description: 'Waits.',
    execute: async (_, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      paused.release = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      paused.release = undefined;
      return { content: 'waited' };
    },
  });
  const execute = (): Promise<never> => Promise.reject(new ToolError('failed', 'It did not work.'));
  return [pause, defineTool({ ...base, name: 'flaky', description: 'Fails.', execute })];
}

/** Runs the day against a server that refuses nothing; takes some seconds. */
export async function recordDay(wire: 'openai' | 'ollama'): Promise<RecordedRequest[]> {
  const server = await startStrictServer([], answer);
  const env: Record<string, string> =
    wire === 'openai'
      ? { OPENAI_BASE_URL: server.openaiUrl, MODEL: 'openai/fake', OLLAMA_HOST: '' }
      : { OLLAMA_HOST: server.ollamaUrl, MODEL: 'fake' };
  const paused: Paused = {};
  const tools = toolsOfTheDay(paused);
  const gateway = await openGatewayFixture({ env, tools, telegram: true, furnish });
  try {
    const day = new Day(gateway, server, wire);
    await talk(day, paused);
    await work(day);
    await clients(day);
    return day.recorded;
  } finally {
    await gateway.close();
    await server.close();
  }
}

/** The profiles of the day, and who may write. */
async function furnish(home: string): Promise<void> {
  const settings = { access: { telegram: { allow: FRIENDS } } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
  const profiles = {
    planner: { planningEnabled: true, enabledTools: ['flaky', 'todo'] },
    watched: { goalAnchoringEnabled: true, goalAnchoringInterval: 1, enabledTools: ['list_dir'] },
  };
  for (const [name, profile] of Object.entries(profiles)) {
    const folder = path.join(home, 'profiles', name);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
  }
}

class Day {
  readonly gateway: GatewayFixture;
  readonly wire: 'openai' | 'ollama';
  readonly recorded: RecordedRequest[] = [];
  readonly #server: StrictServer;

  constructor(gateway: GatewayFixture, server: StrictServer, wire: 'openai' | 'ollama') {
    this.gateway = gateway;
    this.#server = server;
    this.wire = wire;
  }

  /** Model calls so far. */
  get calls(): number {
    return this.#server.calls.length;
  }

  /** Does something, and records the requests that it led to under this name. */
  async record(name: string, act: () => Promise<unknown>): Promise<void> {
    const before = this.#server.calls.length;
    await act();
    const bodies = this.#server.calls.slice(before);
    if (bodies.length === 0) throw new Error(`no request was sent for "${name}"`);
    this.recorded.push(...bodies.map((body, nth) => ({ name: `${name}, request ${nth + 1}`, body })));
  }

  /** A message in a session, until its turn is over. */
  async says(name: string, id: string, text: string): Promise<void> {
    await this.record(name, async () => {
      await this.gateway.post(id, text);
      await this.gateway.idle(`http:${id}`);
    });
  }

  /** A completion of a client without a session; throws if it is refused. */
  async completes(name: string, json: Record<string, unknown>, route = 'chat/completions'): Promise<void> {
    await this.record(name, async () => {
      const response = await this.gateway.call(`/v1/${route}`, { json: { model: 'default', ...json } });
      if (!response.ok) throw new Error(`${name}: ${await response.text()}`);
      await response.text();
    });
  }

  async changes(id: string, json: Record<string, unknown>): Promise<void> {
    const response = await this.gateway.call(`/v1/sessions/http:${id}`, { method: 'PATCH', json });
    if (!response.ok) throw new Error(await response.text());
  }
}

/** A conversation in which everything goes wrong that can. */
async function talk(day: Day, paused: Paused): Promise<void> {
  const { gateway } = day;
  const isPaused = (): Promise<() => void> =>
    vi.waitFor(() => {
      if (paused.release === undefined) throw new Error('the tool does not wait yet');
      return paused.release;
    }, WAIT);
  await day.says('hello', 'day', 'hello');
  await day.says('a second turn', 'day', 'how are you?');
  await day.says('a tool', 'day', 'look around');
  await day.says('two tools at once', 'day', 'look twice');
  await day.says('a turn that fails behind its tool', 'day', 'look and break');
  await day.says('a turn after the failed one', 'day', 'and now?');
  await day.record('a turn that is stopped', async () => {
    await gateway.post('day', 'wait here');
    await isPaused();
    await gateway.call('/v1/sessions/http:day/stop', { method: 'POST' });
    await gateway.idle('http:day');
  });
  await day.says('a turn after the stopped one', 'day', 'go on');
  await day.changes('day', { queueMode: 'steer' });
  await day.record('a message during a turn', async () => {
    await gateway.post('day', 'wait here again');
    const release = await isPaused();
    await gateway.post('day', 'and be quick');
    release();
    await gateway.idle('http:day');
  });
  await day.record('a fork', async () => {
    const response = await gateway.call('/v1/sessions/http:day/fork', { json: { seq: 6 } });
    const { key } = z.object({ key: z.string() }).parse(await response.json());
    const id = key.slice('http:'.length);
    await gateway.post(id, 'another way');
    await gateway.idle(key);
  });
  for (let n = 1; n <= 6; n += 1) await day.says(`a long conversation, turn ${n}`, 'long', `${n} ${LONG}`);
  await day.says('after its summary', 'long', 'what did we say?');
}

/** Plans, subagents, profiles, pictures, chats of other networks. */
async function work(day: Day): Promise<void> {
  const { gateway } = day;
  await day.says('a subagent', 'agents', 'hand it over');
  for (const mode of ['planner', 'agentic']) {
    await day.says(`before a plan (${mode})`, `plan-${mode}`, 'hello');
    await day.changes(`plan-${mode}`, { profileId: 'planner', mode });
    await day.says(`a plan (${mode})`, `plan-${mode}`, 'plan the washing');
  }
  await day.says('before a goal', 'watched', 'hello');
  await day.changes('watched', { profileId: 'watched' });
  await day.says('a goal that is watched', 'watched', 'look around');
  const picture = `data:image/png;base64,${(await png(64, 64)).toString('base64')}`;
  const content = [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: picture } },
  ];
  const inSession = { model: 'default', messages: [{ role: 'user', content }] };
  await day.record('a picture', async () => {
    await gateway.call('/v1/chat/completions', { json: inSession, headers: { 'x-session-id': 'picture' } });
  });
  await day.says('after a picture', 'picture', 'and look around');
  const [chat = ''] = FRIENDS;
  await day.record('a quote on Telegram', async () => {
    gateway.telegram.says(chat, 'what of that', chat, {
      fields: {
        reply_to_message: {
          message_id: 900,
          date: 1,
          chat: { id: Number(chat), type: 'private' },
          text: 'high tide',
        },
      },
    });
    await vi.waitFor(() => {
      if (!gateway.telegram.screen(chat).includes('Fine.')) throw new Error('not answered yet');
    }, WAIT);
  });
  await linkedChat(day, FRIENDS[1] ?? '');
}

/** A chat on Telegram joins a session of HTTP. */
async function linkedChat(day: Day, chat: string): Promise<void> {
  const { telegram } = day.gateway;
  const shows = (text: string): Promise<string> =>
    vi.waitFor(() => {
      const screen = telegram.screen(chat).join('\n');
      if (!screen.includes(text)) throw new Error(`not shown yet: ${text}, but: ${screen}`);
      return screen;
    }, WAIT);
  await day.says('before a link', 'linked', 'hello');
  telegram.says(chat, '/link', chat);
  const [, code = ''] = /\/link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(await shows('/link ')) ?? [];
  const commands = (content: string) =>
    day.gateway.call('/v1/sessions/http:linked/messages', { json: { content } });
  await commands(`/link ${code}`);
  await shows('it is about to join');
  await commands('/link yes');
  telegram.says(chat, '/link yes', chat);
  await shows('now shares this conversation');
  await day.record('a linked chat', async () => {
    telegram.says(chat, 'hello from here', chat);
    await shows('Fine.');
  });
}

/** What HTTP clients send. */
async function clients(day: Day): Promise<void> {
  for (const [name, json] of Object.entries(COMPLETIONS)) await day.completes(`a client with ${name}`, json);
  await day.completes('a client of responses', RESPONSES, 'responses');
  if (day.wire === 'openai') return;
  for (const [name, json] of Object.entries(FORCED_CALLS)) await day.completes(name, json);
}
