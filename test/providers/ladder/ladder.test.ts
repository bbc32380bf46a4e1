/** Requests that a server refuses, and what it is asked instead: one step a call, in bounded calls and time. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';
import type { Omission } from '../../../src/protocol/agent/omissions.ts';
import { LADDER_MS, MAX_LADDER_CALLS } from '../../../src/providers/ladder.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import type { ServerRule } from '../../fakes/model/strict-server.ts';
import { question } from '../request.ts';
import {
  closeAll,
  full,
  hasDefault,
  hasRole,
  hasTool,
  picturesIn,
  refuse,
  setup,
  TOOLS,
  toolsIn,
  UNKNOWN_WORDS,
} from './setup.ts';

afterEach(closeAll);

/** By the part that the server refuses: when it refuses, and what is left out then. */
const RUNGS: [name: string, when: (body: UpstreamBody) => boolean, omitted: Omission[]][] = [
  ['a system message', (body) => hasRole(body, 'system'), ['system_role']],
  [
    'a field that it does not know',
    (body) => body['stream_options'] != null,
    ['field:stream_options', 'field:chat_template_kwargs'],
  ],
  ['a default in a schema', hasDefault, ['tool_schemas']],
  ['the tools of one MCP server', (body) => hasTool(body, 'web__get'), ['tools:web']],
  ['one picture', (body) => picturesIn(body).includes('base64,NEW'), ['newest_pictures']],
  ['any picture', (body) => picturesIn(body).length > 0, ['pictures']],
  [
    'parallel calls',
    (body) => body.messages.some(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 1),
    ['parallel_calls'],
  ],
  ['tool calls in the history', (body) => hasRole(body, 'tool'), ['tool_exchanges']],
  ['any tool', (body) => body['tools'] !== undefined, ['tools']],
];

describe('a server that refuses', () => {
  it.each(RUNGS)(
    '%s in unknown words is asked without it, and only without it',
    async (_name, when, omitted) => {
      const { ask } = await setup({ rules: [refuse(when)] });
      const first = await ask(full());
      expect(first).toMatchObject({ text: 'Hello.', omitted });
      expect(first.calls).toBeLessThanOrEqual(MAX_LADDER_CALLS);
      // The same request again takes one call: what helped is remembered.
      expect(await ask(full())).toMatchObject({ text: 'Hello.', calls: 1 });
    },
  );

  it.each(RUNGS)(
    '%s with a failure, twice in the same words, is asked without it',
    async (_name, when, omitted) => {
      const { ask } = await setup({ rules: [refuse(when, UNKNOWN_WORDS, 500)] });
      expect(await ask(full())).toMatchObject({ text: 'Hello.', omitted });
    },
  );

  it.each([
    // Azure's serverless models (NousResearch/hermes-agent#109143).
    [
      422,
      {
        detail: [
          { type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' },
        ],
      },
    ],
    // Fireworks (FlowiseAI/Flowise#2866).
    [400, { error: { message: "Extra inputs are not permitted, field: 'stream_options'" } }],
  ])('stream_options by its name (%i) is immediately asked without that field', async (status, body) => {
    const rule: ServerRule = (sent) => (sent['stream_options'] == null ? undefined : { status, body });
    const { ask } = await setup({ rules: [rule] });
    expect(await ask(full())).toEqual({ text: 'Hello.', omitted: ['field:stream_options'], calls: 2 });
  });

  it('a tool by its name is asked without the tools of its MCP server first', async () => {
    const rule = refuse(
      (body) => hasTool(body, 'web__get'),
      "Tool 'web__get' has invalid function parameters",
    );
    const { ask } = await setup({ rules: [rule] });
    // The words speak of parameters as well: reduced schemas are tried before.
    expect(await ask(full())).toEqual({ text: 'Hello.', omitted: ['tools:web'], calls: 3 });
  });

  it('two parts in different words is asked without both, and with everything else', async () => {
    const rules = [
      refuse((body) => hasRole(body, 'system'), 'No such role: E-2.'),
      refuse((body) => picturesIn(body).length > 0, 'Cannot take this: E-3.'),
    ];
    const { ask, server } = await setup({ rules });
    expect((await ask(full())).omitted.toSorted()).toEqual(['pictures', 'system_role']);
    expect(toolsIn(server.calls.at(-1)!)).toHaveLength(3);
  });

  it('two parts in the same words is asked without all that costs nothing', async () => {
    const rules = [refuse((body) => hasRole(body, 'system') || hasDefault(body))];
    const { ask, server } = await setup({ rules });
    const { omitted, text } = await ask(full());
    expect(text).toBe('Hello.');
    expect(omitted).toEqual(expect.arrayContaining(['system_role', 'tool_schemas']));
    expect(picturesIn(server.calls.at(-1)!)).toHaveLength(2);
  });

  it.each([400, 422, 500])(
    'everything (%i) is asked a bounded number of times, without a pause',
    async (status) => {
      const { ask, server } = await setup({ rules: [refuse(() => true, UNKNOWN_WORDS, status)] });
      const begun = performance.now();
      const code = status === 500 ? 'unavailable' : 'bad_request';
      await expect(ask(full())).rejects.toMatchObject({
        code,
        retryable: false,
        message: expect.stringContaining(UNKNOWN_WORDS),
      });
      expect(performance.now() - begun).toBeLessThan(3_000);
      expect(server.calls.length).toBeLessThanOrEqual(MAX_LADDER_CALLS);
      // Nothing is remembered of what did not help.
      const plain = server.calls.length;
      await expect(ask(question('hi'))).rejects.toMatchObject({ code });
      expect(server.calls.length - plain).toBeLessThan(6);
      expect(server.calls[plain]).toMatchObject({ stream_options: { include_usage: true } });
    },
  );

  it.each([
    [LADDER_MS - 1, true],
    [LADDER_MS, false],
  ])('is asked again for %i ms after its first refusal: %s', async (passed, again) => {
    const clock = { now: 0 };
    let nth = 0;
    const rule: ServerRule = () => {
      if (nth++ === 1) clock.now += passed;
      return { status: 400, body: { error: { message: UNKNOWN_WORDS } } };
    };
    const { ask, server } = await setup({ rules: [rule], now: () => clock.now });
    await expect(ask(full())).rejects.toMatchObject({ code: 'bad_request' });
    expect(server.calls.length > 2).toBe(again);
  });

  it('is asked a limited number of times, even if it says something else each time', async () => {
    let nth = 0;
    const rule: ServerRule = () => {
      const words = `No ${String.fromCodePoint(97 + nth++)}.`;
      return { status: 400, body: { error: { message: words } } };
    };
    const { ask, server } = await setup({ rules: [rule] });
    await expect(ask(full())).rejects.toMatchObject({ message: expect.stringContaining('No a.') });
    expect(server.calls.length).toBeLessThanOrEqual(MAX_LADDER_CALLS);
  });

  it('another failure each time is not available, and nothing is left out', async () => {
    let nth = 0;
    const rule: ServerRule = () => ({
      status: 500,
      body: { error: { message: `worker ${'abcd'[nth++]} died` } },
    });
    const { ask, server } = await setup({ rules: [rule] });
    await expect(ask(full())).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    expect(server.calls).toHaveLength(2);
  });

  it('with an error in an answer of status 200 is asked as with a status', async () => {
    const words = { error: { code: 400, message: UNKNOWN_WORDS } };
    const rule: ServerRule = (body) => (hasRole(body, 'system') ? { status: 200, body: words } : undefined);
    const { ask } = await setup({ rules: [rule] });
    expect(await ask(full())).toMatchObject({ text: 'Hello.', omitted: ['system_role'] });
  });
});

describe('Ollama that refuses', () => {
  it.each([400, 500])('a detail of a schema (%i) is asked with reduced schemas', async (status) => {
    const rule: ServerRule = (body) =>
      hasDefault(body) ? { status, body: { error: UNKNOWN_WORDS } } : undefined;
    const { ask, server } = await setup({ rules: [rule], wire: 'ollama' });
    expect(await ask(question('hi', { tools: TOOLS }))).toMatchObject({
      text: 'Hello.',
      omitted: ['tool_schemas'],
    });
    expect(toolsIn(server.calls.at(-1)!)).toHaveLength(3);
  });

  it('a system message is asked with it in the message of the user', async () => {
    const rule: ServerRule = (body) =>
      hasRole(body, 'system') ? { status: 500, body: { error: UNKNOWN_WORDS } } : undefined;
    const { ask, server } = await setup({ rules: [rule], wire: 'ollama' });
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ];
    expect(await ask({ ...question('hi'), messages })).toMatchObject({ omitted: ['system_role'], calls: 3 });
    expect(server.calls.at(-1)?.messages).toEqual([
      { role: 'user', content: expect.stringMatching(/Be brief\.[^]*hi$/) },
    ]);
  });
});
