/** A real process killed while a plan runs: its card is continued in place, and its buttons work. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { readCard } from '../../fakes/gateway/read-card.ts';
import { FRIENDS } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

const LONG_WAIT = { timeout: 60_000, interval: 50 };
const [CHAT = ''] = FRIENDS;
const SAID = 'tidy up the attic';

it('continues in the same message after kill -9, is stopped by its button, and then has no buttons (S-36)', async () => {
  const { telegram, ollama, home, killAndStart } = await telegramProcess({
    config: { turns: { mode: 'agentic' } },
  });
  // The default profile plans.
  const profile = path.join(home, 'profiles', 'default');
  await mkdir(profile, { recursive: true });
  const flags = { planningEnabled: true, enabledTools: ['list_dir'] };
  await writeFile(path.join(profile, 'config.json'), JSON.stringify(flags));
  const cards = () => telegram.messages(CHAT).filter(({ text }) => text.startsWith('Plan: '));
  const labels = (): string[] => cards().flatMap(({ buttons }) => buttons.map(({ text }) => text));
  const shows = (state: string, ...marks: string[]): Promise<void> =>
    vi.waitFor(() => {
      const card = readCard(cards()[0]?.text ?? '');
      expect([card.state, ...card.steps.map(({ mark }) => mark)]).toEqual([state, ...marks]);
    }, LONG_WAIT);
  const thinking = (times: number): Promise<void> =>
    vi.waitFor(() => {
      const calls = ollama.calls.filter(({ body }) => lastUserText(body).includes('this step now'));
      expect(calls).toHaveLength(times);
    }, LONG_WAIT);
  const answerTo = async (press: string): Promise<string> => {
    await vi.waitFor(() => expect(telegram.pressed.answers.has(press)).toBe(true), LONG_WAIT);
    return telegram.pressed.answers.get(press) ?? '';
  };

  await killAndStart();
  ollama.answer('Two steps.\nREFLECT: no', { when: SAID });
  ollama.answer('Steps\n1. [TOOL: list_dir] Look around\n2. [SELF] Think', { when: SAID });
  ollama.answer({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }] }, { when: SAID });
  ollama.answer({ text: 'Never said.', hold: true }, { when: SAID, times: 2 });
  telegram.says(CHAT, SAID, CHAT);
  await thinking(1);
  await shows('running', 'done', 'running');
  expect(labels()).toEqual(['Pause', 'Skip step 2', 'Stop']);
  const pause = cards()[0]?.buttons[0]?.data ?? '';

  await killAndStart();
  await thinking(2);
  expect(await answerTo(telegram.press(CHAT, 'Stop', CHAT))).toBe('The plan is stopped.');
  await shows('cancelled', 'done', 'failed');
  await vi.waitFor(() => expect(labels()).toEqual([]), LONG_WAIT);
  expect(await answerTo(telegram.presses(CHAT, CHAT, pause))).toBe('This plan has ended.');
  expect(cards()).toHaveLength(1);
}, 240_000);
