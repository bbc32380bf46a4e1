/** The Codex CLI by its recorded requests: the first of a conversation, and the first of its second turn. */
import { expect, it } from 'vitest';
import { allFrames } from '../../channels/http/client.ts';
import { describeGateway } from '../setup.ts';
import recorded from './codex-0.171.0.json' with { type: 'json' };

const [first, second] = recorded.requests;

describeGateway('the Codex CLI', {}, (fixture) => {
  const replay = async (request: typeof first) => {
    const response = await fixture().call('/v1/responses', {
      json: request?.body,
      headers: request?.headers,
    });
    const events = (await allFrames(response)).map(({ data }) => JSON.parse(data ?? '{}'));
    return { status: response.status, omitted: response.headers.get('x-omitted-tools'), events };
  };

  it('gets its calls in the form in which it runs them, also those in a namespace', async () => {
    fixture().ollama.answer({
      thinking: 'Hm.',
      toolCalls: [
        { name: 'exec_command', args: { cmd: 'echo hi' } },
        { name: 'multi_agent_v1__close_agent', args: { target: 'x' } },
      ],
    });
    const { status, omitted, events } = await replay(first);
    expect([status, omitted]).toEqual([200, 'web_search']);
    const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(items).toMatchObject([
      { type: 'reasoning' },
      { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"echo hi"}' },
      { type: 'function_call', name: 'close_agent', namespace: 'multi_agent_v1' },
    ]);
    expect(items[1]).not.toHaveProperty('namespace');
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'response.completed', response: { store: false } });
    expect(last.response.usage.total_tokens).toBeGreaterThan(0);
    const { body } = await fixture().modelCall('say hi');
    const names = (body.tools ?? []).map(({ function: { name } }) => name);
    expect(names).toContain('multi_agent_v1__close_agent');
    expect(names).toContain('exec_command');
    expect(names).not.toContain('web_search');
  });

  it('continues with its whole history, calls of a namespace among them', async () => {
    fixture().ollama.answer((body) =>
      body.messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name)).join(),
    );
    const { status, events } = await replay(second);
    expect(status).toBe(200);
    const text = events.find(({ type }) => type === 'response.output_text.done')?.text;
    expect(text).toBe('exec_command,multi_agent_v1__close_agent');
  });
});
