/** Answers in chats where the bot is no member: inline mode and guest messages, for those who may write to it. */
import { expect, it, vi } from 'vitest';
import { describeGateway, HALF, WAIT } from '../setup.ts';

const GROUP = '-1009000';

describeGateway(
  'a bot in chats where it is no member',
  {
    telegram: true,
    file: {
      access: { telegram: { allow: ['7001', '7002', '7003', '7004'] } },
      channels: { telegram: { inline: true, guests: true } },
    },
  },
  (fixture) => {
    const result = async (from: string, query: string) => {
      const { elsewhere } = fixture().telegram;
      const id = elsewhere.types(from, query);
      await vi.waitFor(() => expect(elsewhere.answers.has(id)).toBe(true), WAIT);
      return { id, ...elsewhere.answers.get(id) };
    };
    const shown = async (chatId: string, texts: string[]): Promise<void> => {
      const { elsewhere } = fixture().telegram;
      await vi.waitFor(() => expect(elsewhere.screen(chatId)).toEqual(texts), WAIT);
    };

    it('asks Telegram for their updates', async () => {
      const { telegram } = fixture();
      await vi.waitFor(() => {
        const wanted = telegram.last.get('getUpdates')?.['allowed_updates'];
        expect(wanted).toEqual(
          expect.arrayContaining(['inline_query', 'chosen_inline_result', 'guest_message']),
        );
      }, WAIT);
    });

    it('answers a question of inline mode in the message that was chosen, which grows', async () => {
      const { telegram, ollama } = fixture();
      const answer = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ');
      ollama.answer({ text: answer, failure: HALF }, { when: 'capital of France' });
      const { id, results } = await result('7001', 'capital of France');
      expect(results).toMatchObject([
        { type: 'article', title: 'Ask this', description: 'capital of France' },
      ]);
      telegram.elsewhere.chooses('7001', 'capital of France', id, GROUP);
      await fixture().releaseOnce('capital of France', () =>
        telegram.elsewhere.screen(GROUP).some((text) => text.includes('word0')),
      );
      await shown(GROUP, [answer]);
      expect(telegram.screen('7001')).toEqual([]);
    });

    it('keeps what was asked in one chat from the next question', async () => {
      const { telegram, ollama } = fixture();
      for (const [chat, word] of [
        ['-1009001', 'alpha'],
        ['-1009002', 'beta'],
      ] as const) {
        ollama.answer({ text: `About ${word}.` }, { when: `what is ${word}` });
        const { id } = await result('7002', `what is ${word}`);
        telegram.elsewhere.chooses('7002', `what is ${word}`, id, chat);
        await shown(chat, [`About ${word}.`]);
      }
      const {
        body: { messages },
      } = await fixture().modelCall('what is beta');
      expect(JSON.stringify(messages)).not.toContain('alpha');
    });

    it('offers nothing for no question and for a command, and strangers the way to the bot', async () => {
      expect(await result('7001', ' ')).toMatchObject({ results: [], button: undefined });
      expect(await result('7001', '/new')).toMatchObject({ results: [], button: undefined });
      const stranger = await result('6666', 'let me in');
      expect(stranger.results).toEqual([]);
      expect(stranger.button).toMatchObject({ start_parameter: 'access' });
    });

    it('answers someone who mentions it as a guest, and remembers the conversation in that chat', async () => {
      const { telegram, ollama } = fixture();
      ollama.answer({ text: 'Paris.' }, { when: 'capital of Italy? no, France' });
      ollama.answer({ text: 'Rome.' }, { when: 'and of Italy' });
      telegram.elsewhere.mentions('7003', '-1009003', '@parley_test_bot capital of Italy? no, France');
      await shown('-1009003', ['Paris.']);
      telegram.elsewhere.mentions('7003', '-1009003', '@parley_test_bot and of Italy');
      await shown('-1009003', ['Paris.', 'Rome.']);
      const {
        body: { messages },
      } = await fixture().modelCall('and of Italy');
      expect(JSON.stringify(messages)).toContain('Paris.');
    });

    it('says nothing to strangers there, and gives them no code', async () => {
      const { telegram } = fixture();
      telegram.elsewhere.mentions('6667', '-1009004', '@parley_test_bot hello');
      telegram.elsewhere.mentions('7003', '-1009004', '@parley_test_bot /new');
      fixture().ollama.answer({ text: 'Still here.' }, { when: 'are you there' });
      telegram.elsewhere.mentions('7003', '-1009004', '@parley_test_bot are you there');
      await shown('-1009004', ['Still here.']);
      expect(await fixture().store.access.pairings()).toEqual([]);
    });

    it('answers in the private chat if Telegram no longer takes the answer', async () => {
      const { telegram, ollama } = fixture();
      telegram.chats.open('7004');
      ollama.answer({ text: 'Late.' }, { when: 'too slow for you' });
      const id = telegram.elsewhere.mentions('7004', '-1009005', '@parley_test_bot too slow for you');
      telegram.elsewhere.expires(id);
      await vi.waitFor(() => expect(telegram.screen('7004')).toEqual(['Late.']), WAIT);
      expect(telegram.elsewhere.screen('-1009005')).toEqual([]);
    });
  },
);

describeGateway('a bot without these settings', { telegram: true }, (fixture) => {
  it('does not ask Telegram for their updates', async () => {
    const { telegram } = fixture();
    await vi.waitFor(() => expect(telegram.count('getUpdates')).toBeGreaterThan(0), WAIT);
    const wanted = telegram.last.get('getUpdates')?.['allowed_updates'];
    expect(wanted).toEqual(expect.arrayContaining(['message']));
    expect(JSON.stringify(wanted)).not.toMatch(/inline|guest/);
  });
});
