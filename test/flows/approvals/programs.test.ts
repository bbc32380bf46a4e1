/**
 * Programs may use any file of the chat, however the command line spells it: an approval covers all files as they were,
 * and a rule only a program that does nothing but read.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { createExec } from '../../../src/tools/exec/exec.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { pendingNow, type Pending, pendingSoon } from './pending.ts';

const ran: string[] = [];

/** What `exec` declares; what would run is recorded. `over` replaces some of it. */
function execTool(name: string, over: Partial<Tool> = {}): Tool {
  const exec = createExec(() => undefined);
  return defineTool({
    ...exec,
    name,
    ...over,
    execute: async (args) => {
      ran.push(`${name} ${(args as { command: string }).command}`);
      return { content: 'ran' };
    },
  });
}

/** Twenty-five ways to run a file of the workspace, most of which do not name it. */
const SPELLINGS = [
  'make',
  'npm test',
  'python3 -m tool',
  'pytest',
  'git commit -m x',
  'sh *.sh',
  'sh build.??',
  'sh b*ild.sh',
  'for f in sub/*; do sh $f; done',
  'find . -name "*.sh" -exec sh {} ;',
  'ls | xargs sh',
  String.raw`sh bu\ild.sh`,
  'sh bu""ild.sh',
  "sh b'ui'ld.sh",
  'X=build; sh $X.sh',
  'sh ./sub/../build.sh',
  'cat build.s[h] | sh',
  'sh {build,x}.sh',
  'sh build.sh',
  './build.sh',
  'sh /work/build.sh',
  'cd sub && sh run.sh',
  '. ./build.sh',
  'PATH=. build.sh',
  'eval "$(cat build.sh)"',
];

const tools = [execTool('run'), execTool('look', { risk: () => 'dangerous', results: 'operator' })];

describeGateway('a program', { file: { limits: { messagesAtOnce: 100 } }, tools }, (fixture) => {
  beforeAll(() => void ran.splice(0));

  const folderOf = async (session: string): Promise<string> => {
    const row = await fixture().store.ledger.session(`http:${session}`);
    const folder = path.join(fixture().home, 'workspace', 'sessions', row?.folder ?? '');
    await mkdir(path.join(folder, 'sub'), { recursive: true });
    return folder;
  };
  const write = async (session: string, name: string, text: string): Promise<void> =>
    writeFile(path.join(await folderOf(session), name), text);
  const asks = async (session: string, said: string, name: string, command: string): Promise<void> => {
    fixture().ollama.answer({ toolCalls: [{ name, args: { command } }] }, { when: said });
    await fixture().post(session, said);
  };
  const decide = async (id: string, json: object): Promise<unknown> =>
    (await fixture().call(`/v1/approvals/${id}`, { json })).json();
  const asked = (session: string, not?: string): Promise<Pending & { mayAlways?: boolean }> =>
    pendingSoon(fixture(), { session: `http:${session}` }, not);

  it('is bound to all files of the chat, and no rule covers it, in each of 25 spellings', async () => {
    const bound = SPELLINGS.map(async (command, n) => {
      const session = `spelling-${n}`;
      await fixture().post(session, 'hello');
      await fixture().idle(`http:${session}`);
      for (const name of ['build.sh', 'Makefile', 'sub/run.sh']) await write(session, name, 'echo SHOWN');
      await asks(session, `do ${session}.`, 'run', command);
      const first = await asked(session);
      expect.soft(first.mayAlways, command).toBe(false);
      expect
        .soft(first.warning, command)
        .toMatch(/any of the 3 files of this chat \(30 bytes, SHA-256 `\w{64}`\)/);
      await write(session, 'sub/run.sh', 'echo EVIL');
      await decide(first.id, { decision: 'approved', always: true });
      const second = await asked(session, first.id);
      expect
        .soft(second.warning, command)
        .toContain('One has changed since you last allowed this: `sub/run.sh`.');
      expect.soft(ran, command).not.toContain(`run ${command}`);
      await decide(second.id, { decision: 'approved' });
      await vi.waitFor(() => expect(ran).toContain(`run ${command}`), WAIT);
    });
    await Promise.all(bound);
  });

  it('is asked about each time, also in a new conversation, with what changed since', async () => {
    await fixture().post('again', 'hello');
    await fixture().idle('http:again');
    await write('again', 'Makefile', 'all:');
    await asks('again', 'make it', 'run', 'make all');
    await decide((await asked('again')).id, { decision: 'approved', always: true });
    await fixture().idle('http:again');
    await fixture().call('/v1/sessions/http:again/messages', { json: { content: '/new' } });
    await asks('again', 'make it once more', 'run', 'make all');
    const { id, warning } = await asked('again');
    expect(warning).toContain('None has changed since you last allowed this.');
    await decide(id, { decision: 'denied' });
  });

  it('that only reads may get a rule, which holds until any file changes', async () => {
    await fixture().post('rule', 'hello');
    await fixture().idle('http:rule');
    await write('rule', 'notes.txt', 'mine');
    await asks('rule', 'look once', 'look', 'cat notes.txt');
    const first = await asked('rule');
    expect(first.mayAlways).toBe(true);
    expect(await decide(first.id, { decision: 'approved', always: true })).toMatchObject({ rule: 'stored' });
    await fixture().idle('http:rule');
    await asks('rule', 'look twice', 'look', 'cat notes.txt');
    await fixture().idle('http:rule');
    expect(ran.filter((run) => run === 'look cat notes.txt')).toHaveLength(2);
    await write('rule', 'other.txt', 'new');
    await asks('rule', 'look a third time', 'look', 'cat notes.txt');
    const { id, warning } = await asked('rule', first.id);
    expect(warning).toContain('One has changed since you last allowed this: `other.txt`.');
    await decide(id, { decision: 'denied' });
    await fixture().idle('http:rule');
  });

  it('is not asked about when the files are more than an approval can cover', async () => {
    await fixture().post('much', 'hello');
    await fixture().idle('http:much');
    const folder = await folderOf('much');
    for (let n = 0; n < 100; n += 1) {
      await mkdir(path.join(folder, `d${n}`));
      await Promise.all(Array.from({ length: 100 }, (_, m) => mkdir(path.join(folder, `d${n}/${m}`))));
    }
    await asks('much', 'run much', 'run', 'make');
    await fixture().idle('http:much');
    const read = JSON.stringify(fixture().ollama.calls.map(({ body }) => body['messages']));
    expect(read).toContain('more than an approval can cover');
    expect(await pendingNow(fixture(), { session: 'http:much' })).toBeUndefined();
  });
});
