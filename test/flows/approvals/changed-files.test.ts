/** A call whose arguments a person has changed: what they were not shown is shown first, and what they were shown is what runs. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MAX_ASKED } from '../../../src/protocol/agent/approvals.ts';
import { describeGateway } from '../setup.ts';
import { type Pending, pendingSoon } from './pending.ts';
import { scriptTool } from './script-tool.ts';

const ran: string[] = [];
const tools = [scriptTool('run_script', ran), scriptTool('run_program', ran, { uses: () => 'anything' })];

const file = { tools: { enabled: ['write_file'] } };

describeGateway('a call that is approved with other files', { file, tools }, (fixture) => {
  /** A session whose call of `one.sh` waits, next to `two.sh`; what changes its files and decides. */
  async function asked(name: string, tool = 'run_script') {
    const session = `http:${name}` as const;
    const written = (at: string, content: string) => ({ name: 'write_file', args: { path: at, content } });
    const files = [written('one.sh', `${name} ONE`), written('two.sh', `${name} TWO`)];
    fixture().ollama.answer({ toolCalls: files }, { when: `prepare ${name}` });
    await fixture().post(name, `prepare ${name}`);
    await fixture().idle(session);
    const { folder = '' } = (await fixture().store.ledger.session(session)) ?? {};
    const put = (at: string, text: string): Promise<void> =>
      writeFile(path.join(fixture().home, 'workspace', 'sessions', folder, at), text);
    const toolCalls = [{ name: tool, args: { script: 'one.sh', note: 'as told' } }];
    fixture().ollama.answer({ toolCalls }, { when: `run ${name}` });
    await fixture().post(name, `run ${name}`);
    const first = await pendingSoon(fixture(), { session });
    const approve = async ({ id }: Pending, args?: object): Promise<void> => {
      const answer = await fixture().call(`/v1/approvals/${id}`, { json: { decision: 'approved', args } });
      expect(answer.status).toBe(200);
    };
    const next = (before: Pending): Promise<Pending> => pendingSoon(fixture(), { session }, before.id);
    const mine = (): string[] => ran.filter((text) => text.startsWith(name));
    return { first, next, put, approve, mine, end: () => fixture().idle(session) };
  }

  it('is asked about again with the files that it would use now, and runs once these are approved', async () => {
    const { first, next, approve, mine, end } = await asked('again');
    expect(first.files).toMatchObject([{ path: 'one.sh', text: 'again ONE' }]);
    await approve(first, { script: 'two.sh' });
    const second = await next(first);
    expect(second.args).toEqual({ script: 'two.sh' });
    expect(second.files).toMatchObject([{ path: 'two.sh', text: 'again TWO' }]);
    expect(mine()).toEqual([]);
    await approve(second);
    await end();
    expect(mine()).toEqual(['again TWO']);
  });

  it('runs without another question if it uses the files that were shown', async () => {
    const { first, approve, mine, end } = await asked('same');
    await approve(first, { script: 'one.sh', note: 'changed' });
    await end();
    expect(mine()).toEqual(['same ONE']);
  });

  it('is asked about again when a shown file was replaced, also after a change of something else', async () => {
    const { first, next, put, approve, mine, end } = await asked('replaced');
    await put('one.sh', 'replaced EVIL');
    await approve(first, { script: 'one.sh', note: 'changed' });
    const second = await next(first);
    expect(second.files).toMatchObject([{ path: 'one.sh', text: 'replaced EVIL' }]);
    expect(second.args).toEqual({ script: 'one.sh', note: 'changed' });
    expect(mine()).toEqual([]);
    await approve(second);
    await end();
    expect(mine()).toEqual(['replaced EVIL']);
  });

  it('is bound to the new files: replaced after the second question, they are asked about a last time, then refused', async () => {
    const { first, next, put, approve, mine, end } = await asked('bound');
    await approve(first, { script: 'two.sh' });
    let newest = await next(first);
    for (let asks = 2; asks < MAX_ASKED; asks += 1) {
      await put('two.sh', `bound EVIL ${asks}`);
      await approve(newest);
      newest = await next(newest);
    }
    await put('two.sh', 'bound EVIL');
    await approve(newest);
    await end();
    expect(mine()).toEqual([]);
    const answer = fixture().ollama.calls.findLast(({ body }) => JSON.stringify(body).includes('run bound'));
    expect(JSON.stringify(answer?.body)).toContain(
      `changed each time after it was approved, ${MAX_ASKED} times`,
    );
  });

  it('of a program is bound to all files of the chat: any change of them asks again', async () => {
    const { first, next, put, approve, mine, end } = await asked('program', 'run_program');
    await put('three.sh', 'new');
    await approve(first, { script: 'two.sh' });
    const second = await next(first);
    expect(second).toMatchObject({ args: { script: 'two.sh' }, files: [{ path: 'two.sh' }] });
    await approve(second);
    await end();
    expect(mine()).toEqual(['program TWO']);
  });
});
