/** Gateways in an encrypted room, killed while they answer: everyone reads all of it once, and the homeserver reads nothing. */
import { afterEach, expect, it, vi } from 'vitest';
import { type Scenario, startScenario } from '../../../crash/scenario.ts';
import { serverUrl } from '../../../database.ts';
import { EncryptingClient } from '../../../fakes/matrix/encrypting-client.ts';
import { DEVICE, type FakeRoom } from '../../../fakes/matrix/rooms.ts';
import { LONG, MINUTES, words } from '../killed.ts';

let open: Scenario | undefined;
afterEach(() => open?.close());

/** A room that is encrypted, and the client of the person in it. */
async function start(nodes: number): Promise<{ scenario: Scenario; ada: EncryptingClient; room: FakeRoom }> {
  const scenario = (open = await startScenario({
    postgresUrl: serverUrl(),
    sessions: { matrix: 1 },
    gateways: nodes,
  }));
  const { matrix, gateways, places } = scenario;
  for (const gateway of gateways) gateway.start();
  for (const gateway of gateways) await gateway.url();
  await vi.waitFor(() => expect(matrix.confirmed).toBeGreaterThan(0), LONG);
  const room = matrix.rooms.find(places[0]?.chatId ?? '');
  const person = matrix.rooms.person('Ada');
  const ada = await EncryptingClient.open(matrix, person);
  matrix.rooms.encrypt(room, person);
  await vi.waitFor(() => expect(matrix.keys.deviceIds(matrix.rooms.bot.id)).toEqual([DEVICE]), LONG);
  return { scenario, ada, room };
}

function expectSecret({ matrix }: Scenario, secrets: readonly string[]): void {
  const seen = [
    ...matrix.traffic,
    ...[...matrix.rooms.rooms.values()].map(({ events }) => JSON.stringify(events)),
  ];
  for (const secret of secrets) expect(seen.some((text) => text.includes(secret))).toBe(false);
}

it(
  'a killed gateway finishes its answer with the keys it had, and uses no one-time key twice',
  async () => {
    const { scenario, ada, room } = await start(1);
    const { matrix, ollama } = scenario;
    const [gateway] = scenario.gateways;
    ollama.answer({ text: words(200), perSecond: 20 }, { when: 'tell me' });
    await ada.says(room, 'tell me');
    await expect.poll(async () => (await ada.screen(room)).join(), LONG).toContain('word9');
    await gateway?.kill();
    ollama.answer(words(200), { when: 'tell me' });
    ollama.answer('The second answer.', { when: 'said while it was dead' });
    await ada.says(room, 'said while it was dead');
    gateway?.start();
    await expect.poll(async () => await ada.screen(room), LONG).toEqual([words(200), 'The second answer.']);
    const held = Promise.withResolvers<void>();
    matrix.failures.push({ kind: 'late', until: held.promise, match: /\/send\// });
    ollama.answer('the third', { when: 'how often' });
    await ada.says(room, 'how often');
    await expect.poll(async () => await ada.screen(room), LONG).toHaveLength(3);
    await gateway?.kill();
    held.resolve();
    ollama.answer('the third', { when: 'how often' });
    gateway?.start();
    ollama.answer('last', { when: 'and now' });
    await ada.says(room, 'and now');
    const whole = [words(200), 'The second answer.', 'the third', 'last'];
    await expect.poll(async () => await ada.screen(room), LONG).toEqual(whole);
    const { keys, rooms } = matrix;
    expect(keys.deviceIds(rooms.bot.id)).toEqual([DEVICE]);
    expect(new Set(keys.uploaded).size).toBe(keys.uploaded.length);
    expect(new Set(keys.claimed).size).toBe(keys.claimed.length);
    expectSecret(scenario, ['word9', 'second answer', 'the third', 'tell me', 'said while']);
  },
  MINUTES,
);

it(
  'two nodes answer with the keys of one device, and the second goes on when the first is killed',
  async () => {
    const { scenario, ada, room } = await start(2);
    const answers: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      answers.push(`answer ${n}`);
      scenario.ollama.answer(`answer ${n}`, { when: `question ${n}.` });
      await ada.says(room, `question ${n}.`);
      await expect.poll(async () => await ada.screen(room), LONG).toEqual(answers);
    }
    await scenario.gateways[0]?.kill();
    scenario.ollama.answer('still here', { when: 'who is left?' });
    await ada.says(room, 'who is left?');
    await expect.poll(async () => await ada.screen(room), LONG).toEqual([...answers, 'still here']);
    expect(scenario.matrix.keys.deviceIds(scenario.matrix.rooms.bot.id)).toEqual([DEVICE]);
    expectSecret(scenario, ['answer 0', 'still here', 'who is left']);
  },
  MINUTES,
);
