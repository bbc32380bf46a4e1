/** `parley export --signed` beside a running gateway, and `parley verify` where there is none. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parley } from '../../child.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { pendingSoon } from '../approvals/pending.ts';
import { describeGateway, OWNER } from '../setup.ts';

const ran: string[] = [];

describeGateway('a signed record of a session', { tools: riskyTools(ran) }, (fixture) => {
  it('says who asked and who approved which bytes, and another machine proves that nothing was changed', async () => {
    const { env } = fixture();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'the attic' } }] },
      { when: 'clean up' },
    );
    await fixture().post('attic', 'clean up');
    const { id } = await pendingSoon(fixture(), { session: 'http:attic' });
    await fixture().call(`/v1/approvals/${id}`, { json: { decision: 'approved' }, token: OWNER });
    await fixture().idle('http:attic');
    expect(ran).toContain('wipe the attic');

    const { code, stdout } = await parley(['export', 'http:attic', '--signed'], env);
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    const approval = lines.find(({ type }) => type === 'approval');
    expect(approval).toMatchObject({
      id,
      state: 'approved',
      decided_by: expect.stringContaining('token:'),
      detail: { tool: 'wipe', args: { word: 'the attic' }, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(lines.find(({ type }) => type === 'message')).toMatchObject({ role: 'user', content: 'clean up' });
    expect(lines.filter(({ type }) => type === 'journal').map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['user', 'assistant', 'tool_intent', 'tool_result']),
    );

    const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-record-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'attic.jsonl');
    const elsewhere = { GATEWAY_HOME: path.join(folder, 'home') };
    await writeFile(file, stdout);
    const verdict = await parley(['verify', file], elsewhere);
    expect([verdict.code, verdict.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Nothing was changed: http:attic, \d+ lines, signed by Parley \S+ at \S+\.\nKey: /,
      ),
    ]);
    await writeFile(file, stdout.replaceAll('the attic', 'the cellar'));
    const forged = await parley(['verify', file], elsewhere);
    expect([forged.code, forged.stderr]).toEqual([
      1,
      expect.stringMatching(/^This is not what was signed: line \d+/),
    ]);
    expect((await parley(['verify', path.join(folder, 'none')], elsewhere)).stderr).toMatch(
      /^There is no file /,
    );
  });
});
