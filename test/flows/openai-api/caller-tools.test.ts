/** Tools that the caller runs, in a session: the turn waits for their results, and nothing is lost in the meantime. */
import { createHash } from 'node:crypto';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { describeGateway, OWNER } from '../setup.ts';
import { eventsUntil } from '../../channels/http/client.ts';
import { messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';

const LOOK = {
  type: 'function' as const,
  function: {
    name: 'look',
    description: 'Looks at a place.',
    parameters: { type: 'object', properties: { at: { type: 'string' } } },
  },
};
const says = (content: string) => [{ role: 'user' as const, content }];
const result = (tool_call_id: string, content: string) => ({ role: 'tool' as const, tool_call_id, content });
const call = (id: string, at = 'home') => ({ name: 'look', args: { at }, id });

describeGateway("a session and its caller's tools", {}, (fixture) => {
  const inSession = (session: string) =>
    new OpenAI({
      baseURL: `${fixture().gateway.url}/v1`,
      apiKey: OWNER,
      maxRetries: 0,
      defaultHeaders: { 'X-Session-Id': session },
    });
  const complete = (session: string, messages: OpenAI.ChatCompletionMessageParam[], more: object = {}) =>
    inSession(session).chat.completions.create({ model: 'default', messages, tools: [LOOK], ...more });

  describe('that calls them', () => {
    it('returns the calls, waits without a worker, and continues with their results', async () => {
      const { ollama } = fixture();
      ollama.answer({ text: 'One moment.', toolCalls: [call('call_1'), call('call_2', 'work')] });
      const first = await complete('goes-on', says('where am I needed?'));
      expect(first.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: { content: 'One moment.' },
      });
      expect(first.choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(['call_1', 'call_2']);
      const { running } = await fixture().gateway.health();
      expect(running).toBe(0);
      ollama.answer('At work.');
      const second = await complete('goes-on', [result('call_2', 'a fire'), result('call_1', 'a cat')]);
      expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'At work.' } });
      expect(second.usage?.completion_tokens).toBe(2);
      const messages = messagesWithoutNotes((await fixture().modelCall('where am I needed?')).body.messages);
      const ids = messages[2]?.tool_calls?.map(({ id }) => id);
      expect(ids).toEqual([
        expect.stringMatching(/^[A-Za-z0-9]{9}$/),
        expect.stringMatching(/^[A-Za-z0-9]{9}$/),
      ]);
      expect(messages.slice(2, 5)).toMatchObject([
        { role: 'assistant', content: 'One moment.' },
        { role: 'tool', content: 'a cat', tool_call_id: ids?.[0] },
        { role: 'tool', content: 'a fire', tool_call_id: ids?.[1] },
      ]);
      const stored = await fixture().messages('http:goes-on');
      expect(stored.map(({ role, content }) => [role, content])).toEqual([
        ['user', 'where am I needed?'],
        ['assistant', 'One moment.\n\nAt work.'],
      ]);
    });

    it('streams both halves, and accepts the whole history of clients that send it', async () => {
      const { ollama } = fixture();
      ollama.answer({ text: 'Wait.', toolCalls: [call('call_s')] });
      const question = says('stream it');
      const stream = inSession('streams').chat.completions.stream({
        model: 'default',
        messages: question,
        tools: [LOOK],
      });
      const first = (await stream.finalChatCompletion()).choices[0];
      expect(first).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Wait.' } });
      if (first === undefined) throw new Error('no choice');
      ollama.answer(['Done', ' now.'].join(''));
      const rest = inSession('streams').chat.completions.stream({
        model: 'default',
        messages: [...question, first.message, result('call_s', 'a cat')],
        tools: [LOOK],
      });
      expect((await rest.finalChatCompletion()).choices[0]?.message.content).toBe('Done now.');
    });

    it('survives a restart while it waits', async () => {
      const { ollama } = fixture();
      ollama.answer({ toolCalls: [call('call_r')] });
      await complete('restarted', says('before the restart'));
      await fixture().restart();
      ollama.answer('After it.');
      const after = await complete('restarted', [result('call_r', 'still there')]);
      expect(after.choices[0]?.message.content).toBe('After it.');
      const messages = messagesWithoutNotes((await fixture().modelCall('before the restart')).body.messages);
      expect(messages.find(({ role }) => role === 'tool')?.content).toBe('still there');
    });

    it("calls again, under the later request's new options", async () => {
      const { ollama } = fixture();
      ollama.answer('{"at": "a"}');
      const forced = { tool_choice: { type: 'function', function: { name: 'look' } }, temperature: 0.1 };
      const first = await complete('again', says('look twice'), forced);
      const [made] = first.choices[0]?.message.tool_calls ?? [];
      ollama.answer({ toolCalls: [call('call_b', 'b')] });
      const second = await complete('again', [result(made?.id ?? '', 'a')], { temperature: 0.9 });
      expect(second.choices[0]?.message.tool_calls).toMatchObject([{ id: 'call_b' }]);
      const { options, tools } = (await fixture().modelCall('look twice')).body;
      expect([options?.temperature, tools?.length]).toEqual([0.9, 1]);
      ollama.answer('Seen.');
      const third = await complete('again', [result('call_b', 'b')]);
      expect(third.choices[0]?.message.content).toBe('Seen.');
    });

    it('joins a repeated request with the same results to the turn that is continuing', async () => {
      const { ollama } = fixture();
      ollama.answer({ text: 'Wait.', toolCalls: [call('call_d')] });
      await complete('repeats', says('twice'));
      ollama.answer('Once.');
      const answers = await Promise.all([1, 2].map(() => complete('repeats', [result('call_d', 'a cat')])));
      expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(['Once.', 'Once.']);
      const late = await complete('repeats', [result('call_d', 'a cat')]);
      expect(late.choices[0]?.message.content).toBe('Once.');
      const other = complete('repeats', [result('call_d', 'a dog')]);
      await expect(other).rejects.toMatchObject({ status: 409, code: 'no_tools_pending' });
    });
  });

  describe('while it waits', () => {
    it('refuses other completions with 409, queues messages, and is ended by a stop', async () => {
      const { ollama } = fixture();
      ollama.answer({ toolCalls: [call('call_w')] });
      await complete('waits', says('wait for me'));
      const other = complete('waits', says('hello?'));
      await expect(other).rejects.toMatchObject({
        status: 409,
        code: 'tools_pending',
        message: expect.stringContaining('call_w'),
      });
      const turnId = await fixture().post('waits', 'queued meanwhile');
      const stop = await fixture().call('/v1/sessions/http:waits/stop', { method: 'POST' });
      expect(await stop.json()).toMatchObject({ stopped: true, cancelled: 1 });
      await fixture().idle('http:waits');
      const late = complete('waits', [result('call_w', 'too late')]);
      await expect(late).rejects.toMatchObject({ status: 409 });
      expect((await fixture().store.ledger.turn(turnId))?.reason).toBe('stopped');
      ollama.answer('Hello.');
      expect((await complete('waits', says('hello again'))).choices[0]?.message.content).toBe('Hello.');
    });

    it('accepts exactly the results it waits for', async () => {
      fixture().ollama.answer({ toolCalls: [call('call_x'), call('call_y')] });
      await complete('exact', says('two of them'));
      for (const results of [
        [result('call_x', 'only one')],
        [result('call_x', 'a'), result('call_z', 'b')],
        [result('call_x', 'a'), result('call_x', 'b')],
        [result('call_x', 'a'), result('call_y', 'b'), result('call_z', 'c')],
      ]) {
        await expect(complete('exact', results)).rejects.toMatchObject({
          status: 400,
          code: 'bad_tool_results',
          message: expect.stringContaining('call_x, call_y'),
        });
      }
      fixture().ollama.answer('Fine.');
      const done = await complete('exact', [result('call_x', 'a'), result('call_y', 'b')]);
      expect(done.choices[0]?.message.content).toBe('Fine.');
    });

    it('accepts results from no one else, and reveals nothing about sessions that do not exist', async () => {
      fixture().ollama.answer({ toolCalls: [call('call_p')] });
      await complete('private', says('mine'));
      const token = 'token-of-a-stranger-1234567890';
      const hash = createHash('sha256').update(token).digest('hex');
      await fixture().store.access.putToken({ hash, name: 'stranger', scopes: ['chat'] });
      const body = { messages: [result('call_p', 'forged')] };
      for (const session of ['private', 'not-there']) {
        const answer = await fixture().call('/v1/chat/completions', {
          json: body,
          token,
          headers: { 'x-session-id': session },
        });
        expect([answer.status, await answer.json()]).toMatchObject([
          404,
          { error: { code: 'session_not_found' } },
        ]);
      }
    });

    it('shows readers of its events what it waits for, and returns the calls again to the same request', async () => {
      fixture().ollama.answer({ toolCalls: [call('call_e')] });
      const headers = { 'X-Session-Id': 'events', 'Idempotency-Key': 'one' };
      const ask = () => complete('events', says('look'), {}).then((answer) => answer);
      const first = await inSession('events').chat.completions.create(
        { model: 'default', messages: says('look'), tools: [LOOK] },
        { headers },
      );
      const again = await inSession('events').chat.completions.create(
        { model: 'default', messages: says('look'), tools: [LOOK] },
        { headers },
      );
      expect(again.choices[0]?.message.tool_calls).toEqual(first.choices[0]?.message.tool_calls);
      const response = await fixture().call('/v1/sessions/http:events/events');
      const { events } = await eventsUntil(response, ({ type }) => type === 'tool_results_needed');
      expect(events.at(-1)).toMatchObject({ calls: [{ id: 'call_e', name: 'look', args: { at: 'home' } }] });
      await expect(ask()).rejects.toMatchObject({ status: 409 });
    });
  });

  describe('next to the gateway’s own', () => {
    it('offers only the caller’s, or both when the header asks for it', async () => {
      const { ollama } = fixture();
      ollama.answer('one');
      await complete('offers', says('only mine'));
      const names = async (said: string) =>
        (await fixture().modelCall(said)).body.tools?.map((tool) => tool.function.name);
      expect(await names('only mine')).toEqual(['look']);
      ollama.answer({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }, call('call_m')] });
      const headers = { 'X-Gateway-Tools': 'include' };
      const both = await inSession('offers').chat.completions.create(
        { model: 'default', messages: says('both of them'), tools: [LOOK] },
        { headers },
      );
      expect(await names('both of them')).toEqual(expect.arrayContaining(['look', 'list_dir', 'read_file']));
      expect(both.choices[0]?.message.tool_calls).toMatchObject([{ id: 'call_m' }]);
      ollama.answer('Both.');
      const done = await complete('offers', [result('call_m', 'a cat')]);
      expect(done.choices[0]?.message.content).toBe('Both.');
      const messages = messagesWithoutNotes((await fixture().modelCall('both of them')).body.messages);
      expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
        { tool_name: 'list_dir' },
        { tool_name: 'look', content: 'a cat' },
      ]);
    });
  });

  describe('and other options', () => {
    it('honors sampling, limits and system messages in a session', async () => {
      fixture().ollama.answer('Aye.');
      await inSession('options').chat.completions.create({
        model: 'default',
        messages: [{ role: 'system', content: 'Speak like a pirate.' }, ...says('ahoy')],
        temperature: 0.25,
        max_tokens: 12,
        seed: 5,
        stop: 'END',
      });
      const { messages, options } = (await fixture().modelCall('ahoy')).body;
      expect(messages[0]).toMatchObject({
        role: 'system',
        content: expect.stringMatching(/Speak like a pirate\.\n\nWhat stands between \[/),
      });
      expect(options).toMatchObject({ temperature: 0.25, num_predict: 12, seed: 5, stop: ['END'] });
      fixture().ollama.answer('Yes.');
      await complete('options', says('and now?'), { tools: undefined });
      expect(JSON.stringify((await fixture().modelCall('and now?')).body.messages)).not.toContain('pirate');
    });

    it('checks the format of an answer in a session, and reports one that does not match', async () => {
      const ask = () =>
        inSession('forms').chat.completions.create({
          model: 'default',
          messages: says('json, please'),
          response_format: { type: 'json_object' },
        });
      fixture().ollama.answer('{"a": 1}');
      expect((await ask()).choices[0]?.message.content).toBe('{"a": 1}');
      fixture().ollama.answer('No.');
      await expect(ask()).rejects.toThrow(/not have the requested form/);
    });

    it('answers the responses API in a session, and continues only from its newest response', async () => {
      const { ollama } = fixture();
      const tools = [{ type: 'function' as const, strict: false, ...LOOK.function }];
      ollama.answer({ toolCalls: [call('call_q')] });
      const { responses } = inSession('responses');
      const first = await responses.create({ model: 'default', input: 'look at it', tools });
      expect(first.output).toMatchObject([{ type: 'function_call', call_id: 'call_q' }]);
      ollama.answer('A cat.');
      const second = await responses.create({
        model: 'default',
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: 'call_q', output: 'a cat' }],
        tools,
      });
      expect(second).toMatchObject({ output_text: 'A cat.', status: 'completed' });
      expect(second.id).not.toBe(first.id);
      ollama.answer('Grey.');
      const third = await responses.create({
        model: 'default',
        previous_response_id: second.id,
        input: 'which colour?',
      });
      expect(third.output_text).toBe('Grey.');
      const branch = responses.create({ model: 'default', previous_response_id: first.id, input: 'x' });
      await expect(branch).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
    });
  });
});
