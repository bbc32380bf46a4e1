/** Model servers that deviate from their API, behind a full gateway: what HTTP callers get, with or without a session. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamAnswer,
  type UpstreamBody,
} from '../../fakes/model/scripted-upstream.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { CALL_CASES } from './call-cases.ts';
import { MARKUP_CASES } from './markup-cases.ts';
import { REFUSAL_CASES } from './refusal-cases.ts';
import { INNER_TEXT, MARKUP, VALIDATOR_TEXT } from './seen.ts';
import { SHAPE_CASES } from './shape-cases.ts';
import { type Case, delta, message } from './wire.ts';
import { eventsUntil } from '../../channels/http/client.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../../flows/setup.ts';

/** Startup with an embedded database takes seconds, and longer on a busy machine. */
const START_MS = 90_000;
const CHATTER = 'a-token-that-may-only-chat-0123456789';
/** A turn with many tool calls takes long when run next to others on a busy machine. */
const LONG_WAIT = { ...WAIT, timeout: 60_000 };
/** Concurrent calls. */
const AT_ONCE = 8;

/** Answered, whatever the server does: one piece of a case is enough, and errors that make users wait are left out. */
const ANSWERED = [...MARKUP_CASES, ...CALL_CASES, ...SHAPE_CASES].filter(
  ({ name, outcome, whole }) =>
    outcome.code === undefined && whole !== true && !/three characters|more calls than/.test(name),
);

/** A turn costs far more than a completion: every third case represents its neighbors. */
const IN_SESSION = ANSWERED.filter((_, index) => index % 3 === 0);

/** Parts of answers that never end, by content. */
const ENDLESS: Readonly<Record<string, { start?: string; part: string }>> = {
  words: { part: delta({ content: 'x'.repeat(2_000) }) },
  blanks: { part: delta({ content: ' '.repeat(2_000) }) },
  thinking: { part: delta({ reasoning: 'x'.repeat(2_000) }) },
  'thinking in the text': {
    start: delta({ content: '<think>' }),
    part: delta({ content: 'x'.repeat(2_000) }),
  },
  'arguments in the text': {
    start: delta({ content: '<tool_call>{"name": "list_dir", "arguments": {"path": "' }),
    part: delta({ content: 'x'.repeat(2_000) }),
  },
  arguments: {
    part: delta({ tool_calls: [{ index: 0, function: { name: 'list_dir', arguments: 'x'.repeat(2_000) } }] }),
  },
};

const DONE: Record<Case['kind'], readonly string[]> = {
  openai: [delta({ content: 'Done.' }), delta({}, 'stop'), 'data: [DONE]\n\n'],
  ollama: [message({ content: 'Done.' }), '{"done":true,"message":{"content":""}}\n'],
};

let upstream: ScriptedUpstream;
let fixture: GatewayFixture;

/** The question names the case: `openai: a call in one piece`. */
const titleOf = ({ kind, name }: Case): string => `${kind}: ${name}`;
const byTitle = new Map([...ANSWERED, ...REFUSAL_CASES].map((tried) => [titleOf(tried), tried]));

/** How a server fails that closes the connection behind the head of its answer. */
const HEAD_ONLY = 'say nothing but a head';

function choose(body: UpstreamBody, nth: number): UpstreamAnswer {
  const said = lastUserText(body);
  if (said === HEAD_ONLY) return { body: [], end: 'cut' };
  const endless = ENDLESS[said.replace('endless ', '')];
  if (endless !== undefined) return { body: [endless.start ?? '', endless.part], end: 'endless' };
  const tried = byTitle.get(said);
  if (tried === undefined) throw new Error(`nobody asks "${said}"`);
  const asked = body.messages.findLastIndex(({ role }) => role === 'user');
  if (body.messages.slice(asked).some(({ role }) => role === 'tool')) return { body: DONE[tried.kind] };
  const answer = tried.answers[Math.min(nth, tried.answers.length - 1)];
  if (answer === undefined) throw new Error('a case has an answer');
  return answer;
}

interface Answered {
  status: number;
  text: string;
  headers: Headers;
}

/** What a token without `admin` may choose: the default model, or the profile open to everyone with an Ollama model. */
const modelOf = ({ kind }: Pick<Case, 'kind'>): string => (kind === 'openai' ? 'openai/fake' : 'on-ollama');

async function furnish(home: string): Promise<void> {
  const folder = path.join(home, 'profiles', 'on-ollama');
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, 'config.json'),
    JSON.stringify({ usableBy: 'everyone', model: 'ollama/fake' }),
  );
  // The scripted server answers the requests of the cases, but no title call.
  const settings = JSON.stringify({ afterTurn: { title: false } });
  await writeFile(path.join(home, 'config.json'), settings, { mode: 0o600 });
}

/** A completion without a session. */
async function complete(content: string, model: string, token = CHATTER): Promise<Answered> {
  const json = { model, messages: [{ role: 'user', content }] };
  const answer = await fixture.call('/v1/chat/completions', { token, json });
  const body: { choices?: { message: { content: string } }[]; error?: { message: string } } =
    await answer.json();
  const text = body.choices?.[0]?.message.content ?? body.error?.message ?? '';
  return { status: answer.status, text, headers: answer.headers };
}

/** A message into a separate session; the text is the stored one. */
async function inSession(content: string, model: string, id: string): Promise<Answered> {
  const route = `/v1/sessions/http:${id}/messages`;
  const answer = await fixture.call(route, { token: CHATTER, json: { content, model } });
  expect(answer.status).toBe(202);
  const stored = await vi.waitFor(async () => {
    const messages = await fixture.messages(`http:${id}`);
    const found = messages.find(({ role }) => role === 'assistant');
    if (found === undefined) throw new Error(`no answer to "${content}"`);
    return found;
  }, LONG_WAIT);
  return { status: 200, text: stored.content, headers: answer.headers };
}

/** Asks all cases, several concurrently. */
async function askAll(
  cases: readonly Case[],
  ask: (tried: Case, index: number) => Promise<Answered>,
): Promise<Map<Case, Answered>> {
  const answers = new Map<Case, Answered>();
  const waiting = cases.entries();
  const work = async (): Promise<void> => {
    for (const [index, tried] of waiting) answers.set(tried, await ask(tried, index));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

/** What went wrong, one per line: a lost turn, markup, validator output, internal addresses. */
function wrongIn(answers: ReadonlyMap<Case, Answered>): string[] {
  return [...answers].flatMap(([tried, { status, text }]) => {
    const { outcome } = tried;
    const wanted = outcome.calls === undefined ? (outcome.text ?? '').trim() : 'Done.';
    const speaksOfMarkup = /not there|in code/.test(tried.name);
    const wrong = [
      ...(status === 200 && text.includes(wanted) ? [] : [`lost (${status})`]),
      ...(MARKUP.test(text) && !speaksOfMarkup ? ['markup'] : []),
      ...(VALIDATOR_TEXT.test(text) ? ['text of a validator'] : []),
      ...(INNER_TEXT.test(text) ? ['inner text'] : []),
    ];
    return wrong.map((what) => `${titleOf(tried)}: ${what}: ${text.slice(0, 200)}`);
  });
}

describe('a gateway in front of a model server that deviates from its API', { timeout: START_MS * 3 }, () => {
  beforeAll(async () => {
    upstream = await startScriptedUpstream(choose);
    const env = { OPENAI_BASE_URL: upstream.openaiUrl, OLLAMA_HOST: upstream.ollamaUrl };
    fixture = await openGatewayFixture({ env, furnish });
    await fixture.store.access.putToken({ hash: hashSecret(CHATTER), name: 'chatter', scopes: ['chat'] });
  }, START_MS);
  afterAll(async () => {
    await fixture.close();
    await upstream.close();
  });

  it('loses no turn and shows no markup in completions without a session', async () => {
    const answers = await askAll(ANSWERED, (tried) => complete(titleOf(tried), modelOf(tried)));
    expect(answers.size).toBe(ANSWERED.length);
    expect(wrongIn(answers)).toEqual([]);
  });

  it('loses no turn and shows no markup in sessions', async () => {
    const answers = await askAll(IN_SESSION, (tried, index) =>
      inSession(titleOf(tried), modelOf(tried), `case-${index}`),
    );
    expect(answers.size).toBe(IN_SESSION.length);
    expect(wrongIn(answers)).toEqual([]);
  });

  it('maps finish reasons to those of OpenAI', async () => {
    const reasonOf = async (name: string): Promise<string | undefined> => {
      const json = { model: 'openai/fake', messages: [{ role: 'user', content: `openai: ${name}` }] };
      const headers = { 'x-session-id': `reason-${name.replaceAll(/\W/g, '-')}` };
      const reasons = [{}, { headers }].map(async (more) => {
        const answer = await fixture.call('/v1/chat/completions', { token: CHATTER, json, ...more });
        const body: { choices: { finish_reason: string }[] } = await answer.json();
        return body.choices[0]?.finish_reason;
      });
      const [without, within] = await Promise.all(reasons);
      expect(within).toBe(without);
      return without;
    };
    expect(await reasonOf('finish_reason length')).toBe('length');
    expect(await reasonOf('finish_reason content_filter')).toBe('content_filter');
    expect(await reasonOf('a refusal')).toBe('content_filter');
    expect(await reasonOf('CRLF')).toBe('stop');
  });

  it.each(Object.keys(ENDLESS))('ends an answer of endless %s, with and without a session', async (what) => {
    const said = `endless ${what}`;
    const model = 'openai/fake';
    const answers = [
      await complete(said, model),
      await inSession(said, model, `endless-${what.replaceAll(' ', '-')}`),
    ];
    for (const { text } of answers) expect(text.length).toBeLessThan(300_000);
    await vi.waitFor(() => expect(upstream.open).toBe(0), WAIT);
  });

  it.each([
    ['openai: 401', 502, undefined],
    ['openai: insufficient_quota', 429, undefined],
    ['openai: 429 with Retry-After 60', 429, '60'],
    ['openai: an unknown model', 404, undefined],
    ['openai: an overflow in the words of vLLM', 400, undefined],
    ['ollama: an overflow', 400, undefined],
    ['openai: 503 with Retry-After', 503, '7'],
  ])(
    'says what is wrong with %s: %i, and nothing about addresses and settings',
    async (said, status, retryAfter) => {
      const { kind } = byTitle.get(said) ?? { kind: 'openai' as const };
      const got = await complete(said, modelOf({ kind }));
      expect(got.status).toBe(status);
      expect(got.headers.get('retry-after') ?? undefined).toBe(retryAfter);
      expect(got.text).not.toMatch(INNER_TEXT);
      expect(got.text).not.toMatch(VALIDATOR_TEXT);
    },
  );

  it('ends a turn immediately when the server asks for a long pause, and says when to retry', async () => {
    const before = upstream.calls.length;
    const said = 'openai: 429 with Retry-After 60';
    const { text } = await inSession(said, 'openai/fake', 'pause');
    expect(text).toMatch(/Try again in 60 s\.$/);
    // One for the plan, and one for the answer.
    const asked = upstream.calls.slice(before).filter((body) => lastUserText(body) === said);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it('tells the reader after two calls that the server closes the connection behind its head', async () => {
    await fixture.post('head-only', HEAD_ONLY);
    const stream = await fixture.call('/v1/sessions/http:head-only/events');
    const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
    expect(events.at(-1)).toMatchObject({ reason: 'failed' });
    expect(events.find(({ type }) => type === 'stream_chunk')).toHaveProperty(
      'delta',
      expect.stringContaining('The connection to an OpenAI-compatible server was lost'),
    );
    expect(upstream.calls.filter((body) => lastUserText(body) === HEAD_ONLY)).toHaveLength(2);
  });

  it('shows an admin what to set', async () => {
    const admin = fixture.env['GATEWAY_TOKEN'] ?? '';
    expect((await complete('openai: 401', 'openai/fake', admin)).text).toContain('OPENAI_API_KEY');
    expect(fixture.log.join('')).toContain('OPENAI_API_KEY');
  });

  it('continues without tools when the server refuses them, and asks with them only once', async () => {
    const said = 'openai: vLLM without a tool parser';
    const got = [await inSession(said, 'openai/fake', 'no-tools'), await complete(said, 'openai/fake')];
    expect(got.map(({ text }) => text)).toEqual(['Hello.', 'Hello.']);
    const withTools = upstream.calls.filter(
      (body) => lastUserText(body) === said && body['tools'] !== undefined,
    );
    expect(withTools).toHaveLength(1);
  });
});
