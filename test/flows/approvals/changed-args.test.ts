/** Approving a call with changes: it runs with the person's arguments, the model is told, and what was not shown is asked about again. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { pendingSoon } from './pending.ts';

const people = FRIENDS.values();
const ran: string[] = [];
const file = { access: { telegram: { allow: FRIENDS } }, limits: { messagesAtOnce: 100 } };

describeGateway(
  'a call that is approved with changes',
  { telegram: true, file, tools: riskyTools(ran) },
  (fixture) => {
    const shows = (chat: string, text: RegExp): Promise<void> =>
      vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toMatch(text), WAIT);
    /** A chat in which the question about `wipe` waits. */
    async function asked(said: string): Promise<string> {
      const chat = people.next().value ?? '';
      fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: said } }] }, { when: said });
      fixture().telegram.says(chat, said, chat);
      await shows(chat, /May I do this/);
      return chat;
    }
    const toolAnswer = async (said: string): Promise<string> => {
      const { body } = await vi.waitFor(() => {
        const call = fixture().ollama.calls.find(
          ({ body: { messages } }) =>
            messages.some(({ content }) => content?.includes(said)) &&
            messages.some(({ role }) => role === 'tool'),
        );
        if (call === undefined) throw new Error('the tool has not answered');
        return call;
      }, WAIT);
      return withoutNotes(body.messages.findLast(({ role }) => role === 'tool')?.content ?? '');
    };

    it('by a reply with JSON runs once with these arguments; the chat shows both, and the model knows', async () => {
      const chat = await asked('disk one');
      const question = fixture().telegram.messages(chat).at(-1);
      // Telegram shows no forms.
      expect(question?.buttons.map(({ text }) => text)).not.toContain('Edit');
      fixture().telegram.says(chat, '{"word": "disk two"}', chat, { replyTo: question?.id });
      await shows(chat, /Approved with your changes/);
      await shows(chat, /echo: disk one/);
      expect(ran.filter((run) => run.startsWith('wipe disk'))).toEqual(['wipe disk two']);
      await shows(chat, /Changed before it was approved:\s+\{\s+"word": "disk two"/);
      expect(await toolAnswer('disk one')).toContain(
        'A person changed this call before allowing it. Its arguments were: {"word":"disk two"}',
      );
    });

    it('or denied by a reply while the id of the question on screen is not stored yet, but by no reply to something else', async () => {
      const { telegram, sql } = fixture();
      for (const [said, reply, outcome] of [
        ['disk seven', 'not this one', /Denied/],
        ['disk eight', '{"word": "disk nine"}', /Approved with your changes/],
      ] as const) {
        const chat = await asked(said);
        await vi.waitFor(async () => {
          const lanes = await sql`select from lane where key = ${`out:telegram:${chat}`} and tail > head`;
          expect(lanes).toHaveLength(0);
        }, WAIT);
        const question = telegram.messages(chat).at(-1);
        const { id } = await pendingSoon(fixture(), { session: `telegram:${chat}` });
        // As when a node has died between the send and the storing of its id.
        await sql`delete from delivery where ref = ${`approval:${id}`}`;
        await sql`update lane_item set done_at = null where dedupe = ${`approval:${id}`}`;
        const own = telegram.says(chat, 'wipe it', chat);
        telegram.says(chat, 'to my own message', chat, { replyTo: own });
        await vi.waitFor(async () => {
          const [row] =
            await sql`select tail - head as waiting from lane where key = ${`in:telegram:${chat}`}`;
          expect(Number(row?.['waiting'])).toBe(3);
        }, WAIT);
        expect((await pendingSoon(fixture(), { session: `telegram:${chat}` })).id).toBe(id);
        telegram.says(chat, reply, chat, { replyTo: question?.id });
        await shows(chat, outcome);
        await shows(chat, /echo: to my own message/);
      }
      expect(ran).toContain('wipe disk nine');
      expect(ran).not.toContain('wipe disk seven');
      expect(ran).not.toContain('wipe disk eight');
    });

    it('by /approve is checked as the arguments of the tool, and nothing is decided if they are wrong', async () => {
      const chat = await asked('disk three');
      fixture().telegram.says(chat, '/approve {"word": 3', chat);
      await shows(chat, /Nothing was decided: the changes must be a JSON object/);
      fixture().telegram.says(chat, '/approve {"sword": "x"}', chat);
      await shows(chat, /Nothing was decided: Wrong arguments for wipe/);
      expect(ran.join()).not.toContain('disk three');
      fixture().telegram.says(chat, '/approve {"word": "disk four"}', chat);
      await shows(chat, /echo: disk three/);
      expect(ran).toContain('wipe disk four');
      expect(ran).not.toContain('wipe disk three');
    });

    it('over HTTP replaces all arguments, cannot become a rule, and keeps both versions', async () => {
      fixture().ollama.answer(
        { toolCalls: [{ name: 'wipe', args: { word: 'disk five' } }] },
        { when: 'wipe five' },
      );
      await fixture().post('changed', 'wipe five');
      const { id } = await pendingSoon(fixture(), { session: 'http:changed' });
      const decide = (json: object): Promise<Response> => fixture().call(`/v1/approvals/${id}`, { json });
      expect((await decide({ decision: 'approved', args: { word: 'x' }, always: true })).status).toBe(400);
      expect((await decide({ decision: 'denied', args: { word: 'x' } })).status).toBe(400);
      const wrong = await decide({ decision: 'approved', args: { sword: 'x' } });
      expect(wrong.status).toBe(400);
      expect(await wrong.json()).toMatchObject({ error: { code: 'bad_args' } });
      expect((await decide({ decision: 'approved', args: { word: 'disk six' } })).status).toBe(200);
      await vi.waitFor(() => expect(ran).toContain('wipe disk six'), WAIT);
      const [row] = await fixture().sql`select detail from approval where id = ${id}`;
      expect(row?.['detail']).toMatchObject({ args: { word: 'disk five' }, changed: { word: 'disk six' } });
      await fixture().idle('http:changed');
      expect(ran).not.toContain('wipe disk five');
    });
  },
);
