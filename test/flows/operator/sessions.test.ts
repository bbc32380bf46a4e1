/** `parley sessions`, `export` and `schedule` next to a running gateway, and the export over HTTP. */
import { expect, it } from 'vitest';
import { scheduleCommand } from '../../../src/commands/schedule.ts';
import { loadConfig } from '../../../src/config.ts';
import { MAX_LISTED, sessionsCommand } from '../../../src/ops/sessions-command.ts';
import { TRANSCRIPT_PAGE } from '../../../src/protocol/sessions/session-list.ts';
import { parley } from '../../child.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const [ada = '', bob = ''] = FRIENDS;

describeGateway(
  'sessions on the command line',
  {
    telegram: true,
    file: { access: { telegram: { allow: [ada, bob] } } },
    model: { fallback: { text: 'As you like it.' } },
  },
  (fixture) => {
    const sessions = (...args: string[]) => sessionsCommand(args)(fixture().store);
    const schedule = (...args: string[]) => scheduleCommand(args)(fixture().store, loadConfig(fixture().env));

    it('are listed, shown, renamed, exported for people and programs, and deleted with --yes only', async () => {
      const on = fixture();
      const { env } = on;
      await on.post('book', 'Tell me of Rosalind');
      await on.idle('http:book');
      expect(await sessions()).toMatch(/^http:book {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}idle/m);
      expect(await sessions('rename', 'http:book', 'As you\n like it')).toContain('As you like it');
      const shown = await parley(['sessions', 'show', 'http:book'], env);
      expect(shown.stdout).toMatch(/title {5}As you like it\n[\s\S]*messages {2}2\n.*Tell me of Rosalind/);

      const md = await parley(['export', 'http:book'], env);
      expect(md.stdout).toMatch(/^# As you like it\n[\s\S]*\nTell me of Rosalind\n[\s\S]*## Assistant/);
      const json: unknown = JSON.parse(
        (await parley(['export', 'http:book', '--format', 'json'], env)).stdout,
      );
      expect(json).toMatchObject({
        session: { key: 'http:book', title: 'As you like it' },
        messages: [{ role: 'user', content: 'Tell me of Rosalind' }, { role: 'assistant' }],
      });
      const served = await on.call('/v1/sessions/http:book/export?format=json');
      expect(served.headers.get('content-disposition')).toBe('attachment; filename="http-book.json"');
      expect(await served.json()).toEqual(json);
      expect(await (await on.call('/v1/sessions/http:book/export')).text()).toBe(md.stdout);
      expect((await on.call('/v1/sessions/http:book/export?format=pdf')).status).toBe(400);
      expect((await on.call('/v1/sessions/http:none/export')).status).toBe(404);

      const refused = await parley(['sessions', 'delete', 'http:book'], env);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/2 messages.*add --yes/) });
      expect(await sessions('delete', 'http:book', '--yes')).toContain('Deleted http:book');
      expect(await sessions()).not.toContain('http:book');
      await expect(sessions('show', 'http:book')).rejects.toThrow('There is no session http:book');
    });

    it('are exported with the places where /new began a new conversation, between messages and at the end', async () => {
      const on = fixture();
      for (const text of ['Tell me of Celia', 'And of Orlando']) {
        await on.post('forest', text);
        await on.idle('http:forest');
        await on.call('/v1/sessions/http:forest/messages', { json: { content: '/new' } });
      }
      const md = await (await on.call('/v1/sessions/http:forest/export')).text();
      const order = [
        ...md.matchAll(/Tell me of Celia|And of Orlando|---\n\n\*New conversation, \d{4}-\S+Z\*/g),
      ];
      expect(order.map(([found]) => found.slice(0, 6))).toEqual(['Tell m', '---\n\n*', 'And of', '---\n\n*']);
      const { messages, resets } = (await (
        await on.call('/v1/sessions/http:forest/export?format=json')
      ).json()) as { messages: { seq: number }[]; resets: { after: number; at: string }[] };
      const last = messages.at(-1)?.seq ?? 0;
      expect(resets.map(({ after }) => after)).toEqual([last / 2, last]);
    });

    it(`are exported completely, even beyond ${TRANSCRIPT_PAGE} messages`, async () => {
      const on = fixture();
      const { sql } = on;
      await on.post('long', 'first');
      await on.idle('http:long');
      const more = 2 * TRANSCRIPT_PAGE;
      await sql`
        insert into message (session, seq, turn_id, role, content)
        select 'http:long', n, 'turn', 'user', 'message ' || n from generate_series(3, ${more}::int) n`;
      await sql`update session set message_seq = ${more} where key = 'http:long'`;
      const { messages } = (await (await on.call('/v1/sessions/http:long/export?format=json')).json()) as {
        messages: { seq: number }[];
      };
      expect(messages.map(({ seq }) => seq)).toEqual(Array.from({ length: more }, (_, at) => at + 1));
    });

    it('have schedules, which run immediately when an operator asks', async () => {
      const on = fixture();
      const { telegram, env } = on;
      telegram.says(ada, 'Hello', ada);
      await on.modelCall('Hello');
      await on.idle(`telegram:${ada}`);
      const made = await schedule('add', `telegram:${ada}`, '0 9 * * 1-5', 'Tell me the', 'news');
      const id = /Scheduled (\S+) for telegram:\d+:/.exec(made)?.[1] ?? '';
      expect((await parley(['schedule'], env)).stdout).toMatch(
        new RegExp(`^${id} {2}telegram:${ada} .*Tell me the news`, 'm'),
      );
      expect(await schedule('list', `telegram:${bob}`)).toBe('No schedules yet.');
      expect(await schedule('run', id)).toContain('due now');
      await expect
        .poll(() => telegram.screen(ada).join('\n'), WAIT)
        .toMatch(/As you like it[\s\S]*As you like it/);
      await on.modelCall('Tell me the news');
      expect(await schedule('list')).toContain(id);
      expect(await schedule('remove', id)).toMatch(/^Removed: .*Tell me the news/);
      await expect(schedule('run', id)).rejects.toThrow(`There is no schedule ${id}`);
    });

    it('refuse what they do not know, naming what they expect', async () => {
      for (const wrong of [
        ['dance'],
        ['list', 'http:x'],
        ['rename', 'http:a'],
        ['--limit', '0'],
        ['--limit', String(MAX_LISTED + 1)],
      ])
        expect(() => sessionsCommand(wrong)).toThrow(/^Expected: sessions/);
      expect(() => sessionsCommand(['show', 'nothing'])).toThrow(/is not a session/);
      for (const wrong of [['dance'], ['add', 'http:a'], ['run'], ['list', 'http:a', 'b']])
        expect(() => scheduleCommand(wrong)).toThrow(/^Expected: schedule/);
      await expect(schedule('add', 'telegram:999', 'every 2 hours', 'x')).rejects.toThrow(
        'no session telegram:999',
      );
    });
  },
);
