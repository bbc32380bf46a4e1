/** What a turn did (thinking, tool calls, subagents, approvals) is read from its journal, no matter when. */
import { expect, it, vi } from 'vitest';
import type { TurnWork, WorkEvent } from '../../../src/protocol/sessions/turn-work.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, WAIT } from '../setup.ts';

const ran: string[] = [];

describeGateway('the work of turns', { tools: riskyTools(ran) }, (fixture) => {
  const workIn = async (id: string): Promise<TurnWork[]> => {
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages?include=steps`);
    const { steps }: { steps: TurnWork[] } = await answer.json();
    return steps;
  };
  const told = (events: readonly WorkEvent[]): string[] =>
    events.map((event) => {
      const who = event.agentId === undefined ? '' : 'agent ';
      switch (event.type) {
        case 'thinking_delta':
        case 'stream_chunk':
          return `${who}${event.type}: ${event.delta}`;
        case 'tool_call':
          return `${who}call ${event.name} ${JSON.stringify(event.args)}`;
        case 'tool_result':
          return `${who}result ${event.name} ${event.result.slice(0, 40)}`;
        case 'approval_decided':
          return `${event.decision} by ${event.by ?? event.how}`;
        default:
          return `${who}${event.type}`;
      }
    });

  it('has thinking, texts and the call with who approved it, in order, and is the same for later readers', async () => {
    const { ollama } = fixture();
    const call = (path: string, json?: unknown): Promise<Response> =>
      fixture().call(path, json === undefined ? {} : { json });
    const first = {
      thinking: 'It must go.',
      text: 'I will wipe it.',
      toolCalls: [{ name: 'wipe', args: { word: 'the disk' } }],
    };
    ollama.answer(first, { when: 'clean up' });
    ollama.answer('All clean.', { when: 'clean up' });
    const turnId = await fixture().post('cleaner', 'clean up');
    const id = await vi.waitFor(async () => {
      const { approvals } = await (await call('/v1/approvals')).json();
      const [asked] = approvals as { id: string; turnId: string }[];
      if (asked?.turnId !== turnId) throw new Error('nobody was asked');
      return asked.id;
    }, WAIT);
    const [waiting] = await workIn('cleaner');
    expect(told(waiting?.events ?? []).at(-1)).toBe('approval_needed');
    await call(`/v1/approvals/${id}`, { decision: 'approved' });
    await fixture().idle('http:cleaner');
    const [work, ...others] = await workIn('cleaner');
    expect(others).toEqual([]);
    expect(work).toMatchObject({ turnId, complete: true });
    expect(told(work?.events ?? [])).toEqual([
      'thinking_started',
      'thinking_delta: It must go.',
      'thinking_finished',
      'stream_start',
      'stream_chunk: I will wipe it.',
      'call wipe {"word":"the disk"}',
      'approval_needed',
      'approved by GATEWAY_TOKEN',
      'result wipe wipe the disk: ok',
      'stream_start',
      'stream_chunk: \n\nAll clean.',
    ]);
    const [, answer] = await fixture().messages('http:cleaner');
    expect(answer?.content).toBe('I will wipe it.\n\nAll clean.');
  });

  it('keeps the work of a subagent with the turn that waited for it', async () => {
    const { ollama } = fixture();
    const spawn = { name: 'spawn_agent', args: { task: 'count the files' } };
    ollama.answer({ toolCalls: [spawn] }, { when: 'ask a friend' });
    ollama.answer({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }] }, { when: 'count the files' });
    ollama.answer('There are none.', { when: 'count the files' });
    ollama.answer('My friend says: none.', { when: 'ask a friend' });
    await fixture().post('friends', 'ask a friend');
    await fixture().idle('http:friends');
    const [work] = await workIn('friends');
    const lines = told(work?.events ?? []);
    expect(lines).toContain('agent subagent_spawned');
    expect(lines).toContain('agent call list_dir {"path":"."}');
    expect(lines).toContain('agent stream_chunk: There are none.');
    expect(lines.indexOf('agent subagent_completed')).toBeLessThan(lines.length - 1);
  });

  it("refuses another include, and shows nothing of someone else's session", async () => {
    const status = async (path: string): Promise<number> => (await fixture().call(path)).status;
    expect(await status('/v1/sessions/http:cleaner/messages?include=secrets')).toBe(400);
    expect(await status('/v1/sessions/http:nobody/messages?include=steps')).toBe(404);
  });
});
