/** Calls to Discord while the machine's clock is set: limits are waits, and a wait is no longer for it. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { DiscordRest } from '../../../../channels/discord/rest.ts';
import { FakeDiscord } from '../../../fakes/discord/discord.ts';
import { failureOf } from '../../../fakes/gateway/channel-setup.ts';

const WAIT = { timeout: 5_000, interval: 100 };
const HOUR_MS = 3_600_000;
/** Calls that Discord allows a bot in a second. */
const PER_SECOND = 50;

it.each([-2 * HOUR_MS, 2 * HOUR_MS])(
  'continues after the calls of a second were used up and the clock was then changed by %i ms',
  async (byMs) => {
    const discord = await FakeDiscord.open();
    onTestFinished(() => discord.close());
    const { token, apiRoot } = discord;
    const rest = new DiscordRest(token, apiRoot, () => performance.now());
    const call = async () => await rest.call({ method: 'get', path: '/users/@me', bucket: 'me' });
    // All at once: on a slow machine, one after the other would take more than the second.
    await Promise.all(Array.from({ length: PER_SECOND }, call));
    expect(await failureOf(call())).toMatchObject({ code: 'rate_limited', local: true });
    const real = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => real() + byMs);
    onTestFinished(() => void vi.restoreAllMocks());
    // Discord itself counts until the second is over.
    await vi.waitFor(async () => expect(await call()).toMatchObject({ bot: true }), WAIT);
  },
);
