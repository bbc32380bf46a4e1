/**
 * The page about extending, word for word: its files and lines in a copy of the repository, its commands, and the
 * resulting gateway.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parley, startGatewayProcess } from '../child.ts';
import { makeEmbeddedHome } from '../database.ts';
import { startFakeLlama } from '../fakes/llama-server/llama-server.ts';
import { type ChatBody, type Reply, startFakeOllama } from '../fakes/ollama/ollama.ts';
import { listFiles } from '../architecture/imports.ts';
import { applyChange, stepsOf } from './page-files.ts';
import { codeBlocks, ROOT } from './pages.ts';
import { runShell } from './shell.ts';
import { withoutNotes } from '../fakes/model/spoken-text.ts';

const PAGE = 'docs/extending.md';
const SECRET = 'the-secret-of-the-bridge';
const OWNER = { chatId: 'D0123ABC', senderId: 'U0123ABC' };
const STRANGER = { chatId: 'D0456DEF', senderId: 'U0456DEF' };
const WAIT = { timeout: 30_000, interval: 20 };
/** Checking a whole repository takes this machine a while. */
const CHECK_MS = 300_000;

/** The fake of the page's chat program, as far as it is needed here. */
interface Program {
  url: string;
  post(channelUrl: () => string, message: typeof OWNER & { text: string }): void;
  screen(chatId: string): string[];
  close(): Promise<void>;
}

let copy = '';
beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'parley-extending-'));
  for (const file of listFiles()) {
    mkdirSync(path.join(copy, path.dirname(file)), { recursive: true });
    copyFileSync(path.join(ROOT, file), path.join(copy, file));
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  // What the compiler knows of the unchanged files, as a developer's own tree has it after the first check.
  const known = path.join(ROOT, 'test/.tmp/types.tsbuildinfo');
  mkdirSync(path.join(copy, 'test/.tmp'));
  if (existsSync(known)) copyFileSync(known, path.join(copy, 'test/.tmp/types.tsbuildinfo'));
  for (const { file, kind, text } of stepsOf(PAGE)) {
    const place = path.join(copy, file);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, kind === 'file' ? text : applyChange(readFileSync(place, 'utf8'), text));
  }
});
afterAll(() => rm(copy, { recursive: true, force: true }));

/** Runs a command of the page in the copy; returns its exit code and everything it printed. */
async function type(command: string): Promise<{ code: number; output: string }> {
  return await runShell(command, { cwd: copy, env: { HOME: tmpdir(), TMPDIR: tmpdir() } });
}

describe('a developer who follows the page about extending', () => {
  it('writes new files only, and changes no more than the lists', () => {
    const steps = stepsOf(PAGE);
    const known = new Set(listFiles());
    expect(steps.filter(({ file, kind }) => known.has(file) === (kind === 'file'))).toEqual([]);
    const changed = new Set(steps.filter(({ kind }) => kind === 'change').map(({ file }) => file));
    expect([...changed]).toEqual(['channels/index.ts', 'src/tools/index.ts', 'src/providers/index.ts']);
  });

  it(
    'succeeds with every command it names: documentation, checks and contracts',
    async () => {
      expect((await type('git init -q')).code).toBe(0);
      const commands = codeBlocks(PAGE).filter(({ language }) => language === 'sh');
      expect(commands.length).toBeGreaterThan(1);
      for (const { text } of commands) {
        const { code, output } = await type(text);
        expect(code, `${text} printed: ${output}`).toBe(0);
      }
    },
    CHECK_MS,
  );

  it('gets a gateway that answers on the new channel, with the new tool, from a server of the new kind', async () => {
    const program = await startProgram();
    const model = await startFakeOllama({ fallback: askTheTime });
    const lab = await startFakeLlama();
    const home = await makeEmbeddedHome();
    onTestFinished(async () => {
      await program.close();
      await model.close();
      await lab.close();
      await rm(home, { recursive: true, force: true });
    });
    const settings = codeBlocks(PAGE).filter(({ language }) => language === 'json');
    const file: object = Object.assign(
      { access: { bridge: { allow: [OWNER.senderId] }, owners: { bridge: [OWNER.senderId] } } },
      ...settings.map(({ text }) => JSON.parse(text.replace('http://127.0.0.1:1234/v1', lab.url))),
    );
    writeFileSync(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
    const environment = {
      GATEWAY_HOME: home,
      OLLAMA_HOST: model.url,
      BRIDGE_SECRET: SECRET,
      BRIDGE_URL: program.url,
      BRIDGE_PORT: '0',
    };
    const gateway = await startGatewayProcess(environment, { root: copy });
    const channelUrl = (): string =>
      /"url":"([^"]+)"[^\n]*"bridge_listening"/.exec(gateway.stdout())?.[1] ?? '';
    const says = async (from: typeof OWNER, text: string, answer: RegExp): Promise<string> => {
      program.post(channelUrl, { ...from, text });
      return await vi.waitFor(() => {
        const shown = program.screen(from.chatId).at(-1) ?? '';
        expect(shown).toMatch(answer);
        return shown;
      }, WAIT);
    };

    await says(OWNER, 'What time is it?', /^The tool says: \w+day,? \d+ \w+ 20\d\d at [\d:]+ UTC$/);
    await says(OWNER, '/model lab/fake', /lab\/fake/);
    lab.answer({ toolCalls: [{ name: 'current_time', args: { timeZone: 'Asia/Tokyo' } }] });
    lab.answer(
      ({ messages }) =>
        `The lab has heard: ${withoutNotes(messages.findLast(({ role }) => role === 'tool')?.content ?? '')}`,
    );
    await says(OWNER, 'And in Tokyo?', /^The lab has heard: .* at [\d:]+ GMT\+9$/);

    const [, code = ''] =
      /pair approve ([A-Z0-9]{8})/.exec(await says(STRANGER, 'May I?', /pair approve/)) ?? [];
    const paired = await parley(['pair', 'approve', code], { GATEWAY_HOME: home }, copy);
    expect(paired.stdout + paired.stderr).toContain(STRANGER.senderId);
    await says(STRANGER, 'And now?', /^The tool says: /);
  }, 120_000);
});

/** A model that calls the new tool and repeats what it says. */
function askTheTime({ messages }: ChatBody): string | Reply {
  const result = messages.findLast(({ role }) => role === 'tool');
  if (result !== undefined) return `The tool says: ${withoutNotes(result.content)}`;
  return { toolCalls: [{ name: 'current_time', args: { timeZone: 'UTC' } }] };
}

/** The page's own fake of its chat program, from the copy. */
async function startProgram(): Promise<Program> {
  const file = path.join(copy, 'test/channels/bridge/fake-program.ts');
  const { FakeProgram }: { FakeProgram: { start(secret: string): Promise<Program> } } = await import(file);
  return await FakeProgram.start(SECRET);
}
