/** Everything about one person: listed, exported and deleted, while what belongs to others stays row by row. */
import { expect, it } from 'vitest';
import { personCommand } from '../../../src/commands/person.ts';
import { parley } from '../../child.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { personText, rowsOf } from './person-data.ts';

const [ada = '', bob = '', eve = ''] = FRIENDS;

/** Words that only one person says, to find them in any table. */
const secretOf = (person: string, n: number): string => `secret${person}x${n}`;

describeGateway(
  'the data of a person',
  {
    telegram: true,
    file: {
      access: {
        telegram: { allow: [bob, eve], groups: { '-1001': { mention: false }, '-1002': { mention: false } } },
      },
    },
    model: { fallback: { text: 'Noted.' } },
  },
  (fixture) => {
    const person = (...args: string[]): Promise<string> => personText(fixture(), args);

    it('is exported and deleted completely, and no row of others changes', async () => {
      const on = fixture();
      const { store, telegram, sql } = on;
      await store.access.addGrant('telegram', 'dm', ada);
      // Chats of all kinds: private ones, a group of several, a group in which only Ada wrote.
      const talks = [
        ...[ada, bob, eve].map((who, n) => ({ chat: who, who, n })),
        ...[ada, bob, eve, ada].map((who, n) => ({ chat: '-1001', who, n: n + 3 })),
        { chat: '-1002', who: ada, n: 7 },
      ];
      for (const { chat, who, n } of talks) {
        telegram.says(chat, `Remember ${secretOf(who, n)}`, who);
        await on.modelCall(secretOf(who, n));
        await on.idle(`telegram:${chat}`);
      }
      for (const who of [ada, bob]) {
        const fact = { text: `fact of ${secretOf(who, 9)}`, key: 'k', session: `telegram:${who}` as const };
        await store.memories.remember(`telegram:${who}`, { ...fact, untrusted: false });
        telegram.says(who, `/schedule add "0 9 * * *" task of ${secretOf(who, 10)}`, who);
      }
      await expect.poll(async () => (await store.schedules.schedules({ limit: 9 })).length, WAIT).toBe(2);
      await on.idle(`telegram:${ada}`);
      await on.idle(`telegram:${bob}`);
      // A session gets its title after its first answer, next to what follows.
      await expect
        .poll(async () => (await sql`select 1 from session where title is null`).length, WAIT)
        .toBe(0);
      // The notes of what was sent last may still arrive.
      let last = '';
      await expect
        .poll(
          async () => {
            const earlier = last;
            last = JSON.stringify(await rowsOf(on));
            return last === earlier;
          },
          { ...WAIT, interval: 500 },
        )
        .toBe(true);
      const before = await rowsOf(on);

      const exported = await parley(['person', 'export', `telegram:${ada}`], on.env);
      const content = JSON.parse(exported.stdout) as Record<string, unknown[]>;
      expect(content['sessions']).toMatchObject([{ session: { key: `telegram:${ada}` } }]);
      for (const n of [0, 3, 6, 7, 9, 10]) expect(exported.stdout).toContain(secretOf(ada, n));
      expect(exported.stdout).not.toContain(secretOf(bob, 1));
      expect(exported.stdout).not.toMatch(new RegExp(`secret(${bob}|${eve})`));
      expect(content['grants']).toMatchObject([{ right: 'dm' }]);
      expect(content['messagesInSharedSessions']).toHaveLength(3);

      const told = await parley(['person', 'delete', `telegram:${ada}`], on.env);
      expect(told.code).toBe(1);
      expect(told.stderr).toMatch(
        /3 messages in 2 sessions with others[\s\S]*memories: 1; schedules: 1; rights and pairing codes: 1/,
      );
      expect(await rowsOf(on)).toEqual(before);

      expect(await person('delete', `telegram:${ada}`, '--yes')).toContain('Deleted what belonged to');
      const after = await rowsOf(on);
      const leaks = after.filter((row) => row.includes(`secret${ada}`) || row.includes(`telegram:${ada}`));
      expect(leaks).toEqual([]);
      // Rows of others are unchanged: those that named Ada nowhere.
      const ofOthers = before.filter((row) => !row.includes(ada));
      const kept = new Set(after);
      // Rows of Ada's turns that hold only the id of the turn.
      const lost = ofOthers.filter((row) => !kept.has(row) && !/^(delivery|turn_trace) /.test(row));
      expect(lost).toEqual([]);
      for (const [who, n] of [
        [bob, 1],
        [eve, 2],
        [bob, 4],
        [eve, 5],
        [bob, 9],
        [bob, 10],
      ] as const)
        expect(after.some((row) => row.includes(secretOf(who, n)))).toBe(true);
      for (const key of [`telegram:${bob}`, `telegram:${eve}`])
        expect(after.filter((row) => row.includes(`"${key}"`))).toEqual(
          before.filter((row) => row.includes(`"${key}"`)),
        );
      const [usage] = await sql<{ named: number; all: number }[]>`
        select count(*) filter (where user_id = ${`telegram:${ada}`})::int as named, count(*)::int as all from usage`;
      expect(usage).toEqual({ named: 0, all: before.filter((row) => row.startsWith('usage ')).length });
      expect(await person('delete', `telegram:${ada}`, '--yes')).toContain('their own sessions: none');
    });

    it('names ids that are not a person, and what config.json still says', async () => {
      for (const wrong of ['http:x', 'telegram:ada', 'nothing'])
        await expect(person('export', wrong)).rejects.toThrow(/is not a person: expected CHANNEL:ID/);
      await expect(person('delete', `telegram:${bob}`)).rejects.toThrow(/config\.json still names them/);
      for (const wrong of [[], ['export'], ['forget', 'x'], ['export', 'a', 'b']])
        expect(() => personCommand(wrong)).toThrow(/^Expected: person/);
    });
  },
);
