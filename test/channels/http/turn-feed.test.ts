/** Answers over a lossy event bus: the deltas of a client add up to the stored text, or it gets an error. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeTurn } from '../../fakes/gateway/turn.ts';
import { allFrames, type Frame, frames, openApi, type OpenApi, textOf } from './client.ts';

let api: OpenApi;

beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const says = (content: string) => [{ role: 'user' as const, content }];
const complete = (json: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Response> =>
  api.call('/v1/chat/completions', { json, headers });

describe('a streamed answer', () => {
  it('ends as the stored text when the bus lost events or the call was repeated', async () => {
    api.gateway.script = (turn) => {
      turn.say('Hello ');
      api.gateway.events.lose(() => turn.say('dear '));
      turn.say('reader');
      turn.end();
    };
    const session = { 'x-session-id': 'anna' };
    expect(textOf(await allFrames(await complete({ messages: says('x'), stream: true }, session)))).toBe(
      'Hello dear reader',
    );
    api.gateway.script = (turn) => {
      turn.say('Good mor');
      turn.reset();
      turn.say('Good ');
      turn.say('morning');
      turn.end();
    };
    expect(textOf(await allFrames(await complete({ messages: says('y'), stream: true }, session)))).toBe(
      'Good morning',
    );
  });

  it('keeps streaming after lost events once a snapshot fills the gap', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      started.say('one ');
      api.gateway.events.lose(() => started.say('two '));
      started.say('three ');
      started.snapshot();
      started.say('four ');
    };
    const response = await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' });
    const reading = frames(response);
    const seen: Frame[] = [];
    while (!seen.at(-1)?.data?.includes('four')) seen.push((await reading.next()).value);
    expect(textOf(seen)).toBe('one two three four ');
    turn?.say('five');
    turn?.end();
    expect(textOf(await allFrames(reading))).toBe('five');
  });

  it("leaves a subagent's text out of the answer", async () => {
    api.gateway.script = (turn) => {
      turn.say('mine ');
      turn.emit(
        { type: 'stream_chunk', msgId: 'sub', delta: 'not mine ' },
        { agentId: 'a1', isSubagent: true },
      );
      turn.say('alone');
      turn.end();
    };
    const read = await allFrames(
      await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' }),
    );
    expect(textOf(read)).toBe('mine alone');
  });

  it('reads the usage from the store when subagents called the model as well', async () => {
    api.gateway.script = (turn) => {
      turn.say('Two ');
      const call = turn.tool('spawn_agent', { task: 't' });
      const nested = { agentId: 'a1', isSubagent: true };
      if (turn.message.content === 'x')
        turn.emit({ type: 'subagent_spawned', profileId: 'p', task: 't' }, nested);
      turn.result(call, 'spawn_agent', 'done');
      turn.say('calls');
      turn.end();
    };
    const spent = async (content: string): Promise<unknown> =>
      (await complete({ messages: says(content) }, { 'x-session-id': 'anna' })).json();
    // The fake gateway stores the same usage for every turn; the events of this turn add up to twice that.
    expect(await spent('x')).toMatchObject({ usage: { total_tokens: 18 } });
    expect(await spent('alone')).toMatchObject({ usage: { total_tokens: 36 } });
  });

  it('reports an error when a repeated answer differs from what was sent', async () => {
    api.gateway.script = (turn) => {
      turn.say('Good mor');
      turn.reset();
      turn.say('Bonjour');
      turn.end();
    };
    const read = await allFrames(
      await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' }),
    );
    expect(read.at(-1)?.data).toContain('answer_restarted');
  });

  it('keeps the reason of a failure out of the text, whether it comes as a call or in a snapshot', async () => {
    const session = { 'x-session-id': 'anna' };
    const failed = async (content: string, script: (turn: FakeTurn) => void): Promise<unknown[]> => {
      api.gateway.script = script;
      const read = await allFrames(await complete({ messages: says(content), stream: true }, session));
      const { error } = JSON.parse(read.at(-1)?.data ?? '{}');
      return [textOf(read), error.message];
    };
    const asCall = (turn: FakeTurn): void => {
      turn.say('Half');
      turn.end('failed', 'Sorry.');
    };
    expect(await failed('x', asCall)).toEqual(['Half', 'Sorry.']);
    const asSnapshot = (turn: FakeTurn): void => {
      turn.say('Half');
      api.gateway.events.lose(() => turn.say('\n\nSorry.'));
      turn.snapshot();
      turn.end('failed');
    };
    expect(await failed('y', asSnapshot)).toEqual(['Half', 'Sorry.']);
  });

  it('gets the text of a snapshot even if nothing follows it for a while', async () => {
    let turn: FakeTurn | undefined;
    api.gateway.script = (started) => {
      turn = started;
      started.say('one ');
      api.gateway.events.lose(() => started.say('two'));
      started.snapshot();
    };
    const reading = frames(await complete({ messages: says('x'), stream: true }, { 'x-session-id': 'anna' }));
    const seen: Frame[] = [];
    while (!textOf(seen).includes('two')) seen.push((await reading.next()).value);
    turn?.end();
    expect(textOf(seen) + textOf(await allFrames(reading))).toBe('one two');
  });

  it('answers from the store when no event arrives at all', async () => {
    api.gateway.script = async (turn) => {
      api.gateway.events.listeners.clear();
      turn.say('unheard');
      turn.end();
    };
    const answer = await complete({ messages: says('x') }, { 'x-session-id': 'anna' });
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'unheard' } }] });
  });
});
