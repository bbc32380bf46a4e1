/** A plan of the default profile hands a step to `coder`: its own tools, what was read before, and who must approve. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TurnWork } from '../../../src/protocol/sessions/turn-work.ts';
import { type FakeWebsite, startFakeWebsite } from '../../fakes/network/web-pages.ts';
import { describeGateway, WAIT } from '../setup.ts';

let website: FakeWebsite;
beforeAll(async () => {
  website = await startFakeWebsite();
  website.serves('/prices', '<h1>Prices</h1><p>Bread costs 3 euros.</p>');
});
afterAll(() => website.close());

const file = { tools: { exec: true } };
const options = { file, reachable: () => [website.origin] };
const call = (name: string, args: object) => ({ toolCalls: [{ name, args }] });

describeGateway('a plan with a step for the coder', options, (fixture) => {
  interface Asked {
    id: string;
    tool: string;
    warning: string;
    session: string;
  }
  const asks = (session: string): Promise<Asked> =>
    vi.waitFor(async () => {
      const { approvals }: { approvals: Asked[] } = await (await fixture().call('/v1/approvals')).json();
      const found = approvals.find((one) => one.session === session);
      if (found === undefined) throw new Error('nobody is asked');
      return found;
    }, WAIT);

  it('runs it with tools that the plan itself lacks, asks about what its page has tainted, and shows its work', async () => {
    const tag = 'the price list';
    const says = (...answers: Parameters<ReturnType<typeof fixture>['ollama']['answer']>[0][]): void => {
      for (const answer of answers) fixture().ollama.answer(answer, { when: tag });
    };
    says(
      'Three steps.\nREFLECT: no',
      `Steps\n1. [TOOL: web_fetch] Read the page for ${tag}\n2. [AGENT: coder] Write the file of ${tag}\n3. [SELF] Say what is in ${tag}`,
      call('web_fetch', { url: `${website.origin}/prices` }),
      call('write_file', { path: 'prices.txt', content: 'bread 3\n' }),
      call('exec', { command: 'wc -l prices.txt' }),
      'prices.txt has one line.',
      'The list is written.',
      'Bread costs 3 euros, see prices.txt.',
    );
    const before = website.asked.length;
    const content = `Make ${tag} from ${website.origin}/prices`;
    const json = { content, mode: 'agentic' };
    const posted = await fixture().call('/v1/sessions/http:coded/messages', { json });
    expect(posted.status).toBe(202);
    const { id, tool, warning } = await asks('http:coded');
    expect(tool).toBe('exec');
    expect(warning).toContain('content from web pages (127.0.0.1) may have caused it');
    expect(website.asked.slice(before)).toEqual(['/prices']);
    await fixture().call(`/v1/approvals/${id}`, { json: { decision: 'approved' } });
    await fixture().idle('http:coded');
    const answer = await fixture().call('/v1/sessions/http:coded/messages?include=steps');
    const { steps }: { steps: TurnWork[] } = await answer.json();
    const work = steps.flatMap(({ events }) => events);
    const [spawned] = work.filter(({ type }) => type === 'subagent_spawned');
    expect(spawned).toMatchObject({ profileId: 'coder', task: expect.stringContaining('text of others') });
    const ofCoder = work.filter(({ agentId }) => agentId !== undefined && agentId === spawned?.agentId);
    expect(ofCoder.map((event) => (event.type === 'tool_call' ? event.name : event.type))).toEqual([
      'subagent_spawned',
      'write_file',
      'tool_result',
      'exec',
      'approval_needed',
      'approval_decided',
      'tool_result',
      'stream_chunk',
      'subagent_completed',
    ]);
    const offered = fixture().ollama.calls.map(({ body }) =>
      (body.tools ?? []).map(({ function: { name } }) => name),
    );
    const coders = ['list_dir', 'read_file', 'write_file', 'edit_file', 'exec', 'web_fetch'];
    expect(offered.filter((names) => names.includes('exec'))).toEqual([coders, coders, coders]);
    const { plan } = await (await fixture().call('/v1/sessions/http:coded/plan')).json();
    expect(plan).toMatchObject({
      state: 'completed',
      steps: [
        { status: 'done', executor: { kind: 'tool', tool: 'web_fetch' } },
        { status: 'done', executor: { kind: 'agent', profileId: 'coder' } },
        { status: 'done', executor: { kind: 'self' } },
      ],
    });
    expect((await fixture().messages('http:coded')).at(-1)?.content).toContain('Bread costs 3 euros');
  });
});
