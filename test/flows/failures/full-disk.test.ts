/** A database that cannot write for longer than any retry: nothing is acknowledged, nothing is lost, and all of it is answered once. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runsAll } from '../../campaign.ts';
import { answers } from '../../crash/chat-actions.ts';
import { type Scenario, type ScenarioOptions, startScenario, TOKEN } from '../../crash/scenario.ts';
import { fillDisk } from '../../crash/small-disk.ts';
import { serverUrl } from '../../database.ts';
import { FRIENDS, WAIT } from '../setup.ts';

const CHATS = FRIENDS.slice(0, 3);
/** As many as a sender may write within a minute, so that one that counts twice is refused. */
const EACH = 2;
/** Room for a fresh database and for the run. */
const DISK_MB = 320;

/** Characters of a message: too many for what a full disk has left in the files that are there. */
const WRITTEN = 1_000;
const POSTED = 90_000;

/** Text that no database can make shorter. */
const noise = (length: number): string => randomBytes(length).toString('base64url').slice(0, length);

/** Makes every write fail; the result makes them succeed again. */
type Fill = (run: Scenario) => Promise<() => Promise<void>>;

/** What a server that cannot write answers to the statement that accepts a message. */
const refuseWrites =
  (code: string): Fill =>
  async ({ read }) => {
    await read(async (sql) => {
      await sql.unsafe(`create function refuse() returns trigger language plpgsql as
        $$ begin raise exception using errcode = '${code}', message = 'could not write'; end $$`);
      await sql.unsafe('create trigger refuse before insert on turn for each row execute function refuse()');
    });
    return async () => void (await read((sql) => sql.unsafe('drop function refuse cascade')));
  };

interface Case {
  name: string;
  options: ScenarioOptions;
  fill: Fill;
  says: string;
  isUsual: boolean;
  isHere: boolean;
}

const onServer = {
  options: { postgresUrl: serverUrl() },
  isHere: true,
};
const CASES: Case[] = [
  {
    name: 'a full disk, Postgres',
    ...onServer,
    fill: refuseWrites('53100'),
    says: 'has a full disk',
    isUsual: true,
  },
  {
    name: 'a read-only server, Postgres',
    ...onServer,
    fill: refuseWrites('25006'),
    says: 'is read-only',
    // It takes over a minute, as long as the full disk: what was refused is sent again after growing pauses.
    isUsual: false,
  },
  {
    name: 'a full disk, embedded',
    options: { homeMb: DISK_MB },
    fill: ({ gateways }: Scenario) => fillDisk(gateways[0]!.home),
    says: 'The database',
    isUsual: true,
    // Only root can make a small disk.
    isHere: process.getuid?.() === 0,
  },
].filter(({ isHere, isUsual }) => isHere && (isUsual || runsAll));

let scenario: Scenario | undefined;
afterEach(() => scenario?.close());

describe.each(CASES)('$name', ({ options, fill, says }) => {
  it('keeps what was sent with its sender, and answers all of it once there is room', async () => {
    const access = { telegram: { allow: CHATS } };
    const run = (scenario = await startScenario({
      ...options,
      sessions: { telegram: 1 },
      config: { access },
    }));
    const { telegram, ollama } = run;
    ollama.answer({ text: 'Answered.' }, { times: Infinity });
    const gateway = run.gateways[0]!;
    gateway.start();
    const url = await gateway.url();
    const post = (session: string, content: string): Promise<Response> =>
      fetch(`${url}/v1/sessions/http:${session}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ content }),
      });
    expect((await post('before', 'hello')).status).toBe(202);
    await vi.waitFor(async () => expect(await answers(url, 'before')).toEqual(['Answered.']), WAIT);

    const free = await fill(run);
    for (let nth = 1; nth <= EACH; nth += 1)
      for (const chat of CHATS) telegram.says(chat, `${nth} ${noise(WRITTEN)}`, chat);
    const refused = await post('meanwhile', noise(POSTED));
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining(says)]);
    // By now Telegram's updates were refused, too. A disk may have room for one more: that one is answered. All others are
    // not acknowledged, and nobody reads a word about them.
    const kept = telegram.updates.unconfirmed;
    expect(kept).toBeGreaterThanOrEqual(CHATS.length);
    const read = CHATS.flatMap((chat) => telegram.screen(chat));
    expect(read.length).toBeLessThanOrEqual(CHATS.length * EACH - kept);
    expect(read.filter((text) => text !== 'Answered.')).toEqual([]);

    await free();
    const all = Array.from({ length: EACH }, () => 'Answered.');
    await vi.waitFor(
      () => {
        for (const chat of CHATS) expect(telegram.screen(chat)).toEqual(all);
      },
      { timeout: 90_000, interval: 100 },
    );
    await vi.waitFor(() => expect(telegram.updates.unconfirmed).toBe(0), WAIT);
    expect((await post('meanwhile', 'hello again')).status).toBe(202);
    await vi.waitFor(async () => expect(await answers(url, 'meanwhile')).toEqual(['Answered.']), WAIT);
    for (const chat of CHATS) expect(telegram.screen(chat)).toEqual(all);
  }, 180_000);
});
