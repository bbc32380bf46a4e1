/** Evaluations on the command line: the lines of docs/evals.md word for word, beside a running gateway. */
import { spawn } from 'node:child_process';
import { readFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { evalCommand, replayCommand } from '../../../src/commands/replay.ts';
import { loadConfig } from '../../../src/config.ts';
import { MAX_CASES, MAX_OWN_MARKS, type ReplayReport } from '../../../src/protocol/agent/replays.ts';
import { hashSecret, newToken } from '../../../src/security/token-lookup.ts';
import { silentLog } from '../../database.ts';
import { codeBlocks, ROOT } from '../../docs/pages.ts';
import { runShell } from '../../docs/shell.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { socketOfPostgres } from '../../postgres-socket.ts';
import { describeGateway, WAIT } from '../setup.ts';

const QUESTION = 'What is the capital of Portugal?';
const models = ['qwen3:4b', 'qwen3:8b'].map((name) => ({
  name,
  contextLength: 32_768,
  capabilities: ['completion', 'tools'] as const,
}));
const options = { model: { models }, env: { MODEL: 'qwen3:4b' } };

describeGateway('an evaluation', options, (fixture) => {
  const on = (name: string, said: string) => (body: ChatBody) =>
    body.model === name && lastUserText(body).includes(said);
  const answers = (name: string, said: string, answer: string, times = 1): void =>
    fixture().ollama.answer(answer, { when: on(name, said), times });
  const environment = () => ({ ...socketOfPostgres(), ...fixture().env });
  /** The command without a process of its own: what it prints, and whether all is well. */
  const parley = async ([name, ...args]: readonly string[]) => {
    const lines: string[] = [];
    const act = name === 'replay' ? replayCommand(args) : evalCommand(args);
    const { text, ok } = await act(fixture().store, loadConfig(fixture().env), {
      columns: 120,
      progress: (line) => lines.push(line),
      signal: new AbortController().signal,
      log: silentLog,
    });
    return { ok, text, progress: lines.join('\n') };
  };
  const ask = async (session: string, text: string): Promise<string> => {
    const turn = await fixture().post(session, text);
    await fixture().idle(`http:${session}`);
    return turn;
  };

  it('runs as docs/evals.md says', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-evals-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const profile = path.join(fixture().home, 'profiles', 'next');
    await mkdir(profile, { recursive: true });
    await writeFile(path.join(profile, 'system_prompt.md'), 'Answer like a friend.');
    answers('qwen3:4b', QUESTION, 'It is Lisbon.');
    const turn = await ask('trip', QUESTION);
    const lines = codeBlocks('docs/evals.md').flatMap(({ text }) => text.trim().split('\n'));
    const outputs: string[] = [];
    const codes: number[] = [];
    answers('qwen3:4b', 'Is the answer friendly?', 'YES\nIt is.');
    answers('qwen3:8b', QUESTION, 'Lisbon, of course.', 3);
    answers('qwen3:4b', QUESTION, 'Lisboa.', 3);
    for (const line of lines) {
      const command = line.replace('TURN', turn).replaceAll(/evals\.(json|xml)/g, `${folder}/$&`);
      const { output, code } = await runShell(command, { cwd: ROOT, env: environment() });
      outputs.push(output);
      codes.push(code);
    }
    expect(codes).toEqual([0, 0, 0, 1, 1, 1]);
    const [replayed, marked, shown, compared, friendly, written] = outputs;
    expect(replayed).toMatch(/It is Lisbon\. +│ +Lisbon, of course\./);
    expect(replayed).toMatch(/qwen3:4b, profile default +│ +qwen3:8b, profile default/);
    expect(marked).toContain(`Marked ${turn} of http:trip in the set default, with contains "Lisbon"`);
    expect(shown).toContain(QUESTION);
    expect(compared).toMatch(/qwen3:4b +0\/1 /);
    expect(compared).toMatch(/qwen3:8b +1\/1 /);
    expect(compared).toContain('contains "Lisbon": it does not: "Lisboa."');
    expect(friendly).toContain('profile next');
    expect(friendly).not.toContain('judge "Is the answer friendly?":');
    expect(written).toContain('[2/2] qwen3:8b');
    const json = JSON.parse(await readFile(`${folder}/evals.json`, 'utf8'));
    expect(json).toMatchObject({ set: 'default', passed: false, profile: null });
    expect(json.totals).toMatchObject([
      { model: 'qwen3:4b', tests: 1, passed: 0, errors: 0 },
      { model: 'qwen3:8b', tests: 1, passed: 1, errors: 0 },
    ]);
    const xml = await readFile(`${folder}/evals.xml`, 'utf8');
    expect(xml).toContain('<testsuite name="qwen3:4b" tests="1" failures="1" errors="0"');
    expect(xml).toContain('<failure message="contains &quot;Lisbon&quot;" type="check">');
    const [, asked] = fixture().ollama.calls.filter(({ body }) =>
      body.messages.some(({ content }) => content.includes('Answer like a friend.')),
    );
    expect(asked).toBeUndefined();
  }, 240_000);

  it('passes only when every check of every answer does', async () => {
    const turn = await ask('code', 'Name a colour as JSON');
    const schema = path.join(fixture().home, 'colour.json');
    await writeFile(schema, '{"type":"object","required":["colour"]}');
    const checks = ['--check', `schema=${schema}`, '--check', 'regex=blu[e]'];
    await parley(['eval', 'mark', turn, '--set', 'json', ...checks]);
    answers('qwen3:8b', 'Name a colour', '```json\n{"colour": "blue"}\n```');
    expect(await parley(['eval', 'json', '--models', 'qwen3:8b'])).toMatchObject({ ok: true });
    answers('qwen3:8b', 'Name a colour', '{"color": "blue"}');
    const failed = await parley(['eval', 'json', '--models', 'qwen3:8b']);
    expect(failed.ok).toBe(false);
    expect(failed.text).toMatch(/schema: .*colour/);
    expect(await parley(['eval', 'unmark', turn, '--set', 'json'])).toMatchObject({ ok: true });
    const { text } = await parley(['replay', turn, '--model', 'qwen3:8b', '--json']);
    const report: ReplayReport = JSON.parse(text);
    expect(report.replay).toMatchObject({ model: 'qwen3:8b', reason: 'completed' });
  });

  it('says what is wrong with a command', async () => {
    const turn = await ask('wrong', 'Right or wrong?');
    await parley(['eval', 'mark', turn, '--set', 'wrong']);
    const wrong: [string, RegExp][] = [
      ['eval none --models qwen3:8b', /The set none has no turns/],
      ['eval wrong --models missing', /missing/],
      ['eval wrong --models qwen3:8b --judge missing', /missing/],
      ['eval wrong', /Expected: eval/],
      ['eval wrong --models ,', /one to 10 models/],
      ['eval wrong --models qwen3:8b --profile nobody', /There is no profile nobody/],
      ['eval wrong --models qwen3:8b --concurrency 17', /from 1 to 16/],
      ['eval mark nothing', /There is no turn nothing/],
      ['eval unmark nothing', /is not marked in the set default/],
      [`eval mark ${turn} --set Bad!`, /cannot be a set/],
      [`eval mark ${turn} --set mark`, /the name of a command/],
      [`eval mark ${turn} --check regex=(`, /is no regular expression/],
      [`eval mark ${turn} --check colour=blue`, /there is no such check/],
      [`eval mark ${turn} --check schema=/nowhere.json`, /ENOENT/],
      [`replay ${turn}`, /Expected: replay/],
      ['replay nothing --model qwen3:8b', /There is no turn nothing/],
    ];
    for (const [command, message] of wrong)
      await expect((async () => parley(command.split(' ')))()).rejects.toThrow(message);
  });

  it('can be stopped, and goes on where it was', async () => {
    const turns = [await ask('long', 'first long one'), await ask('long', 'second long one')];
    for (const turn of turns) await parley(['eval', 'mark', turn, '--set', 'long']);
    answers('qwen3:8b', 'first long one', 'done');
    fixture().ollama.answer({ text: 'late', hold: true }, { when: on('qwen3:8b', 'second long one') });
    const args = ['src/launch.js', 'eval', 'long', '--models', 'qwen3:8b', '--concurrency', '1'];
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], ...environment() },
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const isAsked = () => fixture().ollama.calls.some(({ body }) => on('qwen3:8b', 'second long one')(body));
    await vi.waitFor(() => expect(isAsked()).toBe(true), WAIT);
    expect(output).toContain('[1/2]');
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(output).toContain('Stopped: 1 of 2 are done. The same command goes on from there.');

    const before = fixture().ollama.calls.length;
    const again = await parley(['eval', 'long', '--models', 'qwen3:8b', '--concurrency', '1']);
    expect(again.progress).toContain('Going on where it was: 1 of 2 are done.');
    expect(again.text).toMatch(/qwen3:8b +2\/2/);
    expect(fixture().ollama.calls.length - before).toBe(1);
    expect(await fixture().sql`select * from eval_result`).toEqual([]);
  }, 120_000);

  it('keeps what was marked over HTTP, until the mark or its session is deleted', async () => {
    const turn = await ask('star', 'a bright question');
    const mark = (json?: unknown) =>
      fixture().call(`/v1/turns/${turn}/mark`, { method: 'PUT', ...(json !== undefined && { json }) });
    const marks = async () => (await (await fixture().call('/v1/marks')).json()).marks;
    const mine = async () => (await marks()).filter((one: { turnId: string }) => one.turnId === turn);
    expect((await mark()).status).toBe(200);
    expect(await mine()).toMatchObject([
      { set: 'default', session: 'http:star', question: 'a bright question', checks: [] },
    ]);
    const checks = [{ type: 'contains', text: 'echo' }];
    expect(await (await mark({ checks })).json()).toMatchObject({ checks });
    expect(await mine()).toHaveLength(1);
    await fixture().sql`delete from turn_trace where turn_id = ${turn}`;
    await fixture().sql`delete from context where turn_id = ${turn}`;
    const { progress } = await parley([
      'eval',
      'default',
      '--models',
      'qwen3:8b',
      '--check',
      'contains=bright',
    ]);
    expect(progress).toContain(`${turn}  passed`);

    const remove = (set = '') => fixture().call(`/v1/turns/${turn}/mark${set}`, { method: 'DELETE' });
    expect((await remove('?set=other')).status).toBe(404);
    expect((await remove()).status).toBe(200);
    expect(await mine()).toEqual([]);
    expect((await mark()).status).toBe(409);
    expect((await mark({ set: 'A b' })).status).toBe(400);

    const other = await ask('gone', 'a question that goes');
    await fixture().call(`/v1/turns/${other}/mark`, { method: 'PUT', json: { set: 'gone' } });
    await fixture().call('/v1/sessions/http:gone', { method: 'DELETE' });
    expect(await fixture().sql`select * from eval_case where name = 'gone'`).toEqual([]);
  });

  it('has a bounded number of marks for each token that is no admin’s', async () => {
    const token = newToken();
    const hash = hashSecret(token);
    const { tokenId } = await fixture().store.access.putToken({ hash, name: 'marker', scopes: ['chat'] });
    const own = async (text: string): Promise<string> => {
      const posted = await fixture().call('/v1/sessions/http:own/messages', {
        token,
        json: { content: text },
      });
      await fixture().idle('http:own');
      return (await posted.json()).turnId;
    };
    const turns = [await own('the last one'), await own('one too many')];
    await fixture().sql`
      insert into eval_case (name, turn_id, session, record)
      select 'own', 'own-' || n, 'http:own', '{"journal": []}' from generate_series(1, ${MAX_OWN_MARKS - 1}) n`;
    const mark = (id = '', by?: string) =>
      fixture().call(`/v1/turns/${id}/mark`, {
        method: 'PUT',
        json: {},
        ...(by !== undefined && { token: by }),
      });
    expect((await mark(turns[0], token)).status).toBe(200);
    const refused = await mark(turns[1], token);
    expect(refused.status).toBe(409);
    expect((await refused.json()).error.message).toContain(`You have marked ${MAX_OWN_MARKS} turns`);
    expect((await mark(turns[1])).status).toBe(200);
    expect(await fixture().sql`select 1 from session where owner_token_id = ${tokenId}`).toHaveLength(1);
  });

  it('has bounded sets', async () => {
    const turn = await ask('bound', 'one too many');
    await fixture().sql`
      insert into eval_case (name, turn_id, session, record)
      select 'full', 'turn-' || n, 'http:bound', '{"journal": []}' from generate_series(1, ${MAX_CASES - 1}) n`;
    const mark = (id: string) =>
      fixture().call(`/v1/turns/${id}/mark`, { method: 'PUT', json: { set: 'full' } });
    expect((await mark(turn)).status).toBe(200);
    const answer = await mark(await ask('bound', 'two too many'));
    expect(answer.status).toBe(409);
    expect((await answer.json()).error.message).toContain('at most 200 turns');
    expect((await mark(turn)).status).toBe(200);
  });
});
