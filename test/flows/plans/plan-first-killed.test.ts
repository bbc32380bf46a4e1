/** A real process killed between the making of a plan, its card, the press on Run and the first step: everything happens once. */
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { connect } from '../../crash/rows.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { FRIENDS, OWNER } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

const LONG_WAIT = { timeout: 60_000, interval: 20 };
const [CHAT = ''] = FRIENDS;
const TAG = 'the cellar';

/** Cards whose ids on the platform are stored. */
async function storedCards(home: string): Promise<number> {
  const sql = connect({ socketPath: path.join(home, 'pg', '.s.PGSQL.5432') });
  try {
    const rows = await sql`select from delivery where ref like 'plan:%' and jsonb_array_length(parts) > 0`;
    return rows.length;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

it('plans once, shows one card and runs each step once, wherever it is killed', async () => {
  const { telegram, ollama, gateway, home, killAndStart } = await telegramProcess();
  const cards = () => telegram.messages(CHAT).filter(({ text }) => text.startsWith('Plan: '));
  const asked = (what: string): number =>
    ollama.calls.filter(({ body }) => lastUserText(body).includes(what)).length;
  const until = (check: () => void): Promise<void> => vi.waitFor(check, LONG_WAIT);

  await killAndStart();
  ollama.answer('Two things.\nREFLECT: no', { when: TAG });
  ollama.answer({ text: `Steps\n1. [SELF] Sweep ${TAG}\n2. [SELF] Mop ${TAG}`, hold: true }, { when: TAG });
  telegram.says(CHAT, `/plan clean ${TAG}`, CHAT);
  await until(() => expect(asked(TAG)).toBe(2));
  // The process dies when the plan is stored and nothing of it is on screen yet.
  telegram.outage = 'cut';
  ollama.calls.at(-1)?.release();
  await vi.waitFor(async () => {
    const route = `${await gateway.url()}/v1/plans?session=telegram:${CHAT}`;
    const listed = await fetch(route, { headers: { authorization: `Bearer ${OWNER}` } });
    expect(await listed.text()).toContain('"stored"');
  }, LONG_WAIT);
  await gateway.kill();
  expect(cards()).toEqual([]);
  telegram.outage = undefined;
  gateway.start();
  await until(() => {
    expect(telegram.screen(CHAT).join('\n')).toContain('None of this plan has run yet');
    expect(cards()).toEqual([expect.objectContaining({ text: expect.stringContaining('not started') })]);
  });
  expect(cards()[0]?.buttons.map(({ text }) => text)).toEqual(['Run', 'Step by step', 'Edit', 'Cancel']);
  expect(asked(TAG)).toBe(2);
  expect(asked('this step now')).toBe(0);

  // The first step is requested and not answered when the process dies; so the press was committed.
  ollama.answer({ text: 'Never said.', hold: true }, { when: 'this step now' });
  telegram.press(CHAT, 'Run', CHAT);
  await gateway.kill();
  gateway.start();
  await until(() => expect(asked('this step now')).toBe(1));
  // Telegram offers no way to check for a message: one whose id is not stored yet would be sent again.
  await vi.waitFor(async () => expect(await storedCards(home)).toBe(2), LONG_WAIT);
  ollama.answer(`Swept ${TAG}.`, { when: 'this step now' });
  ollama.answer(`Mopped ${TAG}.`, { when: 'this step now' });
  await killAndStart();
  await until(() => {
    expect(cards()).toHaveLength(2);
    expect(cards()[1]?.text).toMatch(/Completed · 2 of 2 steps done/);
    expect(cards()[0]?.text).toContain('run once');
  });
  // The interrupted step is requested again; no other is, and the plan was not started twice.
  expect(asked('this step now')).toBe(3);
  expect(telegram.screen(CHAT).filter((text) => text.startsWith('echo: Run the plan'))).toHaveLength(1);
}, 240_000);
