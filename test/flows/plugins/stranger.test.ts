/** The page about plug-ins, word for word: a stranger's folders elsewhere, the commands, and the gateway that then answers. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { parley, startGatewayProcess } from '../../child.ts';
import { makeEmbeddedHome } from '../../database.ts';
import { type ChatBody, type Reply, startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';
import { startBridgeProgram } from '../../fakes/plugins/bridge-program.ts';
import { stepsOf } from '../../docs/page-files.ts';
import { codeBlocks } from '../../docs/pages.ts';

const PAGE = 'docs/plugins.md';
const SECRET = 'the-secret-of-the-bridge';
const TOKEN = 'owner-token-of-the-gateway-0123456789';
const OWNER = { chat: 'D0123ABC', user: 'U0123ABC' };
const STRANGER = { chat: 'D0456DEF', user: 'U0456DEF' };
const WAIT = { timeout: 30_000, interval: 20 };

it('adds a channel and a tool without a change of the repository, and chats through them', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-stranger-'));
  const home = await makeEmbeddedHome();
  const program = await startBridgeProgram(SECRET);
  const model = await startFakeOllama({ fallback: rollDice });
  onTestFinished(async () => {
    await program.close();
    await model.close();
    for (const place of [folder, home]) await rm(place, { recursive: true, force: true });
  });
  for (const { file, text } of stepsOf(PAGE)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  const environment = { GATEWAY_HOME: home, OLLAMA_HOST: model.url, GATEWAY_TOKEN: TOKEN };
  const commands = codeBlocks(PAGE).flatMap(({ language, text }) =>
    language === 'sh' ? text.trim().split('\n') : [],
  );
  expect(commands).toHaveLength(3);
  for (const command of commands) {
    const [, ...words] = command.split(' ');
    const { code, stdout, stderr } = await parley(
      words.map((word) => (word.startsWith('./') ? path.join(folder, word) : word)),
      environment,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^ok +ends within 5 s/m);
    expect(stdout).not.toMatch(/^failed/m);
  }
  // The sources may go: the home has its own copies.
  await rm(folder, { recursive: true });

  const access = { bridge: { allow: [OWNER.user] }, owners: { bridge: [OWNER.user] } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ access }), { mode: 0o600 });
  const gateway = await startGatewayProcess({
    ...environment,
    BRIDGE_SECRET: SECRET,
    BRIDGE_URL: program.url,
  });
  const webhook = `${gateway.url}/v1/channels/bridge/webhook`;
  const says = async (from: typeof OWNER, text: string, answer: RegExp): Promise<string> => {
    expect(await program.post(webhook, { ...from, text })).toBe(204);
    return await vi.waitFor(() => {
      const last = program.screen(from.chat).at(-1) ?? '';
      expect(last).toMatch(answer);
      return last;
    }, WAIT);
  };

  await says(OWNER, 'Who are you?', /^I am \*the\* dealer\.$/);
  await says(OWNER, 'Roll three dice', /approve/);
  const told = /^The tool says: .*text of others, from the plug-in Dice\..*\n3 dice: (?:[3-9]|1[0-8])\n/;
  await says(OWNER, '/approve', told);

  const [, code = ''] =
    /pair approve ([A-Z0-9]{8})/.exec(await says(STRANGER, 'May I?', /pair approve/)) ?? [];
  const paired = await parley(['pair', 'approve', code], { GATEWAY_HOME: home });
  expect(paired.stdout + paired.stderr).toContain(STRANGER.user);
  await says(STRANGER, 'Who are you?', /dealer/);

  const forged = await fetch(webhook, { method: 'POST', body: '{}', headers: { 'x-signature': 'ab' } });
  expect(forged.status).toBe(401);
  const health = await (
    await fetch(`${gateway.url}/v1/health`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
  ).json();
  expect(health).toMatchObject({ channels: { bridge: { state: 'up', label: 'Bridge' } } });
}, 180_000);

/** A model that rolls dice when it is asked to. */
function rollDice({ messages }: ChatBody): string | Reply {
  const result = messages.findLast(({ role }) => role === 'tool');
  const question = withoutNotes(messages.findLast(({ role }) => role === 'user')?.content ?? '');
  if (result !== undefined && messages.at(-1)?.role === 'tool')
    return `The tool says: ${withoutNotes(result.content)}`;
  if (question.includes('Roll')) return { toolCalls: [{ name: 'dice__roll', args: { dice: 3 } }] };
  return 'I am **the** dealer.';
}
