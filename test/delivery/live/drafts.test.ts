/** Drafts in virtual time: paced, refreshed before they disappear, and ended when no one could read them. */
import { expect, it } from 'vitest';
import type { Rendered } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { steadyRates } from '../../../src/protocol/delivery.ts';
import { LiveCalls } from '../../../src/delivery/live/calls.ts';
import { DRAFT_TTL_MS, Drafts } from '../../../src/delivery/live/drafts.ts';
import { Scheduler } from '../../../src/delivery/rate/scheduler.ts';
import { silentLog } from '../../database.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { FakeChannel } from '../../fakes/gateway/channel.ts';

const rules = { everyMs: 1_000, keepMs: 30_000, shownIn: () => true };
const rendered = (text: string) => ({ text, plain: text, length: text.length });

/** Drafts of a turn whose text the test sets; `fail` makes the next calls throw. */
function openDrafts({ rich = false, lookTakesMs = 0 } = {}) {
  const clock = new FakeClock();
  const shown: { text: string; plain: boolean; at: number; rich: boolean }[] = [];
  const failures: ChannelError[] = [];
  const channel = Object.assign(new FakeChannel({ clock }), {
    async draft(_place: unknown, _turnId: string, body: Rendered, plain: boolean) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      shown.push({ text: body.text, plain, at: clock.monotonicMs(), rich: body.rich === true });
    },
  });
  let text: string | undefined;
  let blocked = 0;
  let refused = 0;
  const begun = clock.monotonicMs();
  const drafts = new Drafts({
    channel,
    rules,
    clock,
    scheduler: new Scheduler(clock, steadyRates({ callsPerSecond: 30, editIntervalMs: 1_000 }), () => true),
    log: silentLog,
    turnId: 't',
    place: { channel: channel.name, chatId: '1' },
    async look(usual) {
      if (lookTakesMs > 0) await new Promise<void>((done) => clock.after(lookTakesMs, done));
      const isRich = rich && !usual;
      return text === undefined ? undefined : { ...rendered(text), ...(isRich && { rich: true }) };
    },
    calls: new LiveCalls(() => 0),
    onBlocked: () => (blocked += 1),
    onRefused: () => (refused += 1),
  });
  return {
    clock,
    shown,
    failures,
    drafts,
    begun,
    says: (next: string): void => {
      text = next;
      drafts.request();
    },
    get blocked() {
      return blocked;
    },
    get refused() {
      return refused;
    },
  };
}

it('shows that the bot is thinking, then the newest text once per interval', async () => {
  const { clock, shown, says, begun } = openDrafts();
  await clock.advance(1);
  for (let n = 0; n < 30; n += 1) {
    says(`text ${n}`);
    await clock.advance(100);
  }
  expect(shown[0]).toMatchObject({ text: '' });
  expect(shown.length).toBeLessThanOrEqual(5);
  expect(shown.at(-1)?.text).toMatch(/text 2\d/);
  expect(shown[1]!.at - begun).toBeGreaterThanOrEqual(1_000);
});

it('shows the same text again before it disappears, but no longer than the limit', async () => {
  const { clock, shown, says } = openDrafts();
  says('still here');
  for (let n = 0; n < DRAFT_TTL_MS / 1_000 + 120; n += 1) await clock.advance(1_000);
  const gaps = shown.slice(1).map(({ at }, index) => at - shown[index]!.at);
  expect(Math.max(...gaps)).toBeLessThan(rules.keepMs);
  const count = shown.length;
  expect(count).toBeLessThan(DRAFT_TTL_MS / 10_000);
  await clock.advance(120_000);
  expect(shown).toHaveLength(count);
});

it('waits as long as the platform asks, and drops markup that is refused', async () => {
  const { clock, shown, failures, says } = openDrafts();
  await clock.advance(1);
  failures.push(new ChannelError('rate_limited', 'too fast', { retryable: true, retryAfterMs: 7_000 }));
  says('after the pause');
  await clock.advance(1_100);
  await clock.advance(6_000);
  expect(shown).toHaveLength(1);
  await clock.advance(2_000);
  expect(shown.at(-1)?.text).toBe('after the pause');
  failures.push(new ChannelError('bad_markup', 'no such tag'));
  says('plain');
  for (let n = 0; n < 4; n += 1) await clock.advance(1_000);
  expect(shown.at(-1)).toMatchObject({ text: 'plain', plain: true });
});

it('ends where no one can read it, and where the platform does not support drafts', async () => {
  for (const [code, blocked, refused] of [
    ['blocked', 1, 0],
    ['rejected', 0, 1],
  ] as const) {
    const open = openDrafts();
    open.failures.push(new ChannelError(code, 'no'));
    await open.clock.advance(1);
    open.says('unread');
    for (let n = 0; n < 60; n += 1) await open.clock.advance(1_000);
    expect(open.shown).toEqual([]);
    expect([open.blocked, open.refused]).toEqual([blocked, refused]);
  }
});

it('shows a draft again after a message took its place, and none after its end', async () => {
  const { clock, shown, says, drafts } = openDrafts();
  says('one');
  await clock.advance(1_100);
  const before = shown.length;
  drafts.replaced();
  await clock.advance(1_100);
  expect(shown.length).toBe(before + 1);
  await drafts.end();
  says('late');
  await clock.advance(60_000);
  expect(shown.length).toBe(before + 1);
});

it('falls back to the usual kind, and stays with it, where the richer one is refused', async () => {
  const { clock, shown, failures, says } = openDrafts({ rich: true });
  says('| a | b |');
  await clock.advance(1_100);
  expect(shown.at(-1)).toMatchObject({ text: '| a | b |', rich: true });
  failures.push(new ChannelError('rejected', 'unknown method'));
  says('| a | b | c |');
  for (let n = 0; n < 3; n += 1) await clock.advance(1_000);
  expect(shown.at(-1)).toMatchObject({ text: '| a | b | c |', rich: false });
  says('| a | b | c | d |');
  for (let n = 0; n < 3; n += 1) await clock.advance(1_000);
  expect(shown.at(-1)).toMatchObject({ text: '| a | b | c | d |', rich: false });
});

it('updates rarely when a text takes long to render as a draft', async () => {
  const { clock, shown, says } = openDrafts({ lookTakesMs: 300 });
  for (let n = 0; n < 60; n += 1) {
    says(`text ${n}`);
    await clock.advance(200);
  }
  expect(shown.length).toBeGreaterThan(2);
  expect(shown.length).toBeLessThanOrEqual(5);
});
