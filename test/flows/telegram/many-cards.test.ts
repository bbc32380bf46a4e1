/** Many background subagents in the topics of one group, under Telegram's limits for a bot: answers do not wait for their cards. */
import { expect, it, vi } from 'vitest';
import { MAX_CARDS } from '../../../src/delivery/live/agent-card.ts';
import { MAX_SUBAGENTS_AT_ONCE } from '../../../src/protocol/agent/subagents.ts';
import { KNOWN_LIMITS } from '../../fakes/telegram/limits.ts';
import { describeGateway } from '../setup.ts';

const GROUP = '-1006001';
/** Each topic is a conversation, with as many subagents in the background as one may have. */
const TOPICS = [11, 12, 13, 14, 15];
const AGENTS = TOPICS.length * MAX_SUBAGENTS_AT_ONCE;
/** Far less than the minute in which Telegram takes twenty messages of a bot in a group. */
const SOON_MS = 30_000;
const LONG = { timeout: 60_000, interval: 50 };

describeGateway(
  'a group with many subagents in the background',
  {
    telegram: true,
    telegramLimits: KNOWN_LIMITS,
    file: {
      access: { telegram: { groups: { [GROUP]: { mention: false } } } },
      tools: { enabled: ['spawn_agent'] },
      // A request for a title names the tasks, too, and would get an answer that a subagent waits for.
      afterTurn: { title: false, facts: false },
    },
  },
  (fixture) => {
    it('shows the cards of some, answers another question soon, and is never refused as too fast', async () => {
      const { telegram, ollama } = fixture();
      telegram.chats.open(GROUP, { topics: TOPICS });
      const screen = (): string[] => telegram.screen(GROUP);
      const cards = (): string[] => screen().filter((text) => text.includes('working in the background'));
      for (const topic of TOPICS) {
        const tasks = Array.from({ length: MAX_SUBAGENTS_AT_ONCE }, (_, at) => `task ${topic}-${at}`);
        const toolCalls = tasks.map((task) => ({ name: 'spawn_agent', args: { task, background: true } }));
        ollama.answer({ toolCalls }, { when: `begin ${topic}` });
        ollama.answer({ text: `Begun ${topic}.` }, { when: `begin ${topic}` });
        for (const task of tasks) ollama.answer({ text: 'never', hold: true }, { when: task });
        telegram.says(GROUP, `begin ${topic}`, `4${topic}`, { threadId: topic });
      }
      await vi.waitFor(async () => {
        const [row] = await fixture().sql`select count(*)::int as agents from lane where key like 'agent:%'`;
        expect(row?.['agents']).toBe(AGENTS);
      }, LONG);
      const asked = performance.now();
      ollama.answer({ text: 'Paris.' }, { when: 'capital of France' });
      telegram.says(GROUP, 'capital of France?', '42', { threadId: TOPICS.at(-1) ?? 0 });
      await vi.waitFor(() => expect(screen()).toContain('Paris.'), LONG);
      expect(performance.now() - asked).toBeLessThan(SOON_MS);
      await vi.waitFor(
        () => expect(screen()).toEqual(expect.arrayContaining(TOPICS.map((one) => `Begun ${one}.`))),
        LONG,
      );
      expect(cards()).toHaveLength(MAX_CARDS);
      expect(telegram.flood.refused).toBe(0);
    }, 180_000);
  },
);
