/**
 * Questions asked again, answers switched, and answers undone, over HTTP and in chats: what people see, and what the
 * model reads.
 */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { lastUserText, messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const ran: string[] = [];

interface Shown {
  role: string;
  content: string;
  turnId: string;
  leftOut: boolean;
  tries: { of: string; nth: number; count: number } | null;
}

describeGateway(
  'answers that a person undoes or asks for again',
  { telegram: true, tools: riskyTools(ran) },
  (fixture) => {
    const act = (id: string, what: string, json: unknown = {}): Promise<Response> =>
      fixture().call(`/v1/sessions/http:${id}/${what}`, { json });
    const shown = async (id: string): Promise<string[]> => {
      const rows: unknown = await fixture().messages(id.includes(':') ? id : `http:${id}`);
      return (rows as Shown[]).map(({ content, leftOut, tries }) => {
        const place = tries === null ? '' : ` ${tries.nth}/${tries.count}`;
        return `${leftOut ? '-' : ''}${content}${place}`;
      });
    };
    const ask = async (id: string, content: string): Promise<string> => {
      const turnId = await fixture().post(id, content);
      await fixture().idle(`http:${id}`);
      return turnId;
    };
    /** The timeline of a turn, as `parley trace` and the page show it. */
    const traceOf = async (turnId: string): Promise<string> => {
      const trace: { timeline: { text: string }[] } = await (
        await fixture().call(`/v1/turns/${turnId}/trace`)
      ).json();
      return trace.timeline.map(({ text }) => text).join('\n');
    };
    /** What the model reads when it is asked next. */
    const nextReads = async (id: string, content: string): Promise<string[]> => {
      await ask(id, content);
      const { body } = await fixture().modelCall(content);
      return messagesWithoutNotes(body.messages.slice(1)).map((message) => message.content);
    };

    it('gives a second answer to the last question, and the model reads the selected one', async () => {
      fixture().ollama.answer('the first', { when: 'a riddle' });
      const first = await ask('riddle', 'a riddle');
      fixture().ollama.answer('the second', { when: 'a riddle' });
      const again = await act('riddle', 'retry');
      expect(again.status).toBe(202);
      const { turnId }: { turnId: string } = await again.json();
      await fixture().idle('http:riddle');
      expect(await shown('riddle')).toEqual(['a riddle', '-the first 1/2', 'the second 2/2']);
      expect(await traceOf(turnId)).toContain(`answers the question of turn ${first} again, after`);
      expect(await traceOf(first)).not.toContain('answers the question');
      expect(await nextReads('riddle', 'go on')).toEqual(['a riddle', 'the second', 'go on']);
      expect((await act('riddle', `turns/${first}/choose`)).status).toBe(200);
      expect(await shown('riddle')).toEqual([
        'a riddle',
        'the first 1/2',
        '-the second 2/2',
        'go on',
        'echo: go on',
      ]);
      expect((await nextReads('riddle', 'and on')).slice(0, 2)).toEqual(['a riddle', 'the first']);
      await act('riddle', `turns/${turnId}/choose`);
      expect((await nextReads('riddle', 'at last')).slice(0, 2)).toEqual(['a riddle', 'the second']);
    });

    it('answers the last question in other words, and the model and people read the chosen version', async () => {
      const first = await ask('words', 'what is tea');
      const again = await act('words', 'retry', { content: 'what is coffee' });
      const { turnId, seq }: { turnId: string; seq: number } = await again.json();
      expect([again.status, seq]).toEqual([202, 3]);
      await fixture().idle('http:words');
      expect(await shown('words')).toEqual([
        '-what is tea',
        '-echo: what is tea 1/2',
        'what is coffee 2/2',
        'echo: what is coffee 2/2',
      ]);
      expect(await nextReads('words', 'go on')).toEqual(['what is coffee', 'echo: what is coffee', 'go on']);
      await act('words', `turns/${first}/choose`);
      expect((await shown('words')).slice(0, 4)).toEqual([
        'what is tea',
        'echo: what is tea 1/2',
        '-what is coffee 2/2',
        '-echo: what is coffee 2/2',
      ]);
      expect((await nextReads('words', 'and on')).slice(0, 2)).toEqual(['what is tea', 'echo: what is tea']);
      await act('words', `turns/${turnId}/choose`);
      expect((await nextReads('words', 'at last'))[0]).toBe('what is coffee');
    });

    it('repeats the newest wording, of which all answers are versions, and undoes them together', async () => {
      await ask('again', 'one');
      await act('again', 'retry', { content: 'two' });
      await fixture().idle('http:again');
      fixture().ollama.answer('another two', { when: 'two' });
      await act('again', 'retry');
      await fixture().idle('http:again');
      const all = ['one', 'echo: one 1/3', 'two 2/3', 'echo: two 2/3', 'another two 3/3'];
      expect(await shown('again')).toEqual([`-${all[0]}`, `-${all[1]}`, all[2], `-${all[3]}`, all[4]]);
      expect(await (await act('again', 'undo')).json()).toMatchObject({ content: 'two' });
      expect(await shown('again')).toEqual(all.map((text) => `-${text}`));
      expect(await nextReads('again', 'fresh')).toEqual(['fresh']);
    });

    it('refuses other words that are empty, and a version while an answer is being written', async () => {
      await ask('refused', 'one');
      expect((await act('refused', 'retry', { content: '  ' })).status).toBe(400);
      fixture().ollama.answer({ text: 'slow', hold: true }, { when: 'slowly' });
      await fixture().post('refused', 'slowly');
      await fixture().modelCall('slowly');
      expect((await act('refused', 'retry', { content: 'two' })).status).toBe(409);
      await act('refused', 'stop');
      await fixture().idle('http:refused');
      expect((await shown('refused')).slice(0, 2)).toEqual(['one', 'echo: one']);
    });

    it('undoes question and answer one after the other, visibly, and restores them', async () => {
      await ask('undone', 'one');
      const second = await ask('undone', 'two');
      expect(await (await act('undone', 'undo')).json()).toMatchObject({ turnId: second, content: 'two' });
      expect(await shown('undone')).toEqual(['one', 'echo: one', '-two', '-echo: two']);
      expect(await nextReads('undone', 'three')).toEqual(['one', 'echo: one', 'three']);
      await act('undone', `turns/${second}/choose`);
      expect(await shown('undone')).toEqual(['one', 'echo: one', 'two', 'echo: two', 'three', 'echo: three']);
      for (const left of ['three', 'two', 'one'])
        expect(await (await act('undone', 'undo')).json()).toMatchObject({ content: left });
      const nothing = await act('undone', 'undo');
      expect([nothing.status, await nothing.json()]).toMatchObject([
        409,
        { error: { code: 'not_changed', message: expect.stringContaining('no such question') } },
      ]);
      expect(await nextReads('undone', 'fresh')).toEqual(['fresh']);
    });

    it('changes nothing while an answer is being written, and says so', async () => {
      await ask('busy', 'before');
      fixture().ollama.answer({ text: 'slow', hold: true }, { when: 'take your time' });
      const turnId = await fixture().post('busy', 'take your time');
      await fixture().modelCall('take your time');
      for (const what of ['retry', 'undo', `turns/${turnId}/choose`]) {
        const refused = await act('busy', what);
        const { error } = await refused.json();
        expect([refused.status, error.message]).toEqual([409, expect.stringContaining('/stop')]);
      }
      await act('busy', 'stop');
      await fixture().idle('http:busy');
      expect((await act('busy', 'undo')).status).toBe(200);
    });

    it('tells the user and the model what the first answer has already done', async () => {
      fixture().ollama.answer(
        { toolCalls: [{ name: 'note', args: { word: 'milk' } }] },
        { when: 'note milk' },
      );
      fixture().ollama.answer('Noted.', { when: 'note milk' });
      await ask('effects', 'note milk');
      expect(ran.splice(0)).toEqual(['note milk']);
      const again = await act('effects', 'retry');
      expect(await again.json()).toMatchObject({ note: expect.stringContaining('not undone: note') });
      await fixture().idle('http:effects');
      expect(ran).toEqual([]);
      const call = fixture().ollama.calls.findLast(({ body }) => lastUserText(body).includes('note milk'));
      expect(call && lastUserText(call.body)).toMatch(/^note milk\n\[Note of the gateway: .* note\. Look at/);
      expect(await shown('effects')).toContain('note milk');
    });

    it('tells the model what the first answer has done also where the question has other words', async () => {
      fixture().ollama.answer({ toolCalls: [{ name: 'note', args: { word: 'tea' } }] }, { when: 'note tea' });
      fixture().ollama.answer('Noted.', { when: 'note tea' });
      await ask('reworded', 'note tea');
      expect(ran.splice(0)).toEqual(['note tea']);
      await act('reworded', 'retry', { content: 'note coffee' });
      await fixture().idle('http:reworded');
      const call = fixture().ollama.calls.findLast(({ body }) => lastUserText(body).includes('note coffee'));
      expect(call && lastUserText(call.body)).toMatch(
        /^note coffee\n\[Note of the gateway: .* note\. Look at/,
      );
      expect(await shown('reworded')).toContain('note coffee 2/2');
    });

    it('continues with the second answer after a restart in its middle, and gives it once', async () => {
      fixture().ollama.answer('first try', { when: 'over the restart' });
      await ask('restarted', 'over the restart');
      fixture().ollama.answer({ text: 'cut off', hold: true }, { when: 'over the restart' });
      await act('restarted', 'retry');
      await vi.waitFor(() => {
        const asked = fixture().ollama.calls.filter(({ body }) => lastUserText(body) === 'over the restart');
        if (asked.length < 2) throw new Error('not asked again yet');
      }, WAIT);
      fixture().ollama.answer('second try', { when: 'over the restart' });
      await fixture().restart();
      await fixture().idle('http:restarted');
      expect(await shown('restarted')).toEqual(['over the restart', '-first try 1/2', 'second try 2/2']);
      expect(await nextReads('restarted', 'so?')).toEqual(['over the restart', 'second try', 'so?']);
    });

    it('works with /retry and /undo in a chat, for the user who asked', async () => {
      const [ann = ''] = FRIENDS;
      const says = (text: string): number => fixture().telegram.says(ann, text, ann);
      const seen = (text: string): Promise<void> =>
        vi.waitFor(() => expect(fixture().telegram.screen(ann).join('\n')).toContain(text), WAIT);
      fixture().ollama.answer('heads', { when: 'toss a coin' });
      says('toss a coin');
      await seen('heads');
      await fixture().idle(`telegram:${ann}`);
      fixture().ollama.answer('tails', { when: 'toss a coin' });
      says('/retry');
      await seen('tails');
      await fixture().idle(`telegram:${ann}`);
      expect(await shown(`telegram:${ann}`)).toEqual(['toss a coin', '-heads 1/2', 'tails 2/2']);
      const rows: unknown = await fixture().messages(`telegram:${ann}`);
      const [heads, tails] = (rows as Shown[]).filter(({ role }) => role === 'assistant');
      expect(await traceOf(tails?.turnId ?? '')).toContain(
        `answers the question of turn ${heads?.turnId} again`,
      );
      says('/undo');
      await seen('I have forgotten “toss a coin”');
      expect(await shown(`telegram:${ann}`)).toEqual(['-toss a coin', '-heads 1/2', '-tails 2/2']);
      says('/retry');
      await seen('no such question');
    });

    it('undoes one question for one /undo, although a restart loses its confirmation and Telegram repeats it', async () => {
      const [, ben = ''] = FRIENDS;
      const { telegram } = fixture();
      const exchange = async (text: string, answer: string) => {
        telegram.says(ben, text, ben);
        await vi.waitFor(() => expect(telegram.screen(ben).join('\n')).toContain(answer), WAIT);
        await fixture().idle(`telegram:${ben}`);
      };
      await exchange('one', 'echo: one');
      await exchange('two', 'echo: two');
      await exchange('/undo', 'I have forgotten “two”');
      await fixture().restart(() => Promise.resolve(telegram.updates.unconfirm()));
      await exchange('three', 'echo: three');
      expect(await shown(`telegram:${ben}`)).toEqual([
        'one',
        'echo: one',
        '-two',
        '-echo: two',
        'three',
        'echo: three',
      ]);
      expect(telegram.screen(ben).join('\n').split('I have forgotten')).toHaveLength(2);
    });
  },
);
