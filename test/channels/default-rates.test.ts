/** The rates that channels begin with by default: what their platforms document, less what finals need. */
import { expect, it } from 'vitest';
import { manifest as discord } from '../../channels/discord/manifest.ts';
import { manifest as matrix } from '../../channels/matrix/manifest.ts';
import { manifest as telegram } from '../../channels/telegram/manifest.ts';

it('Telegram starts with 19 calls a second, and reserves two of twenty calls a minute in a group for final texts', () => {
  expect(telegram.settings.parse({})).toMatchObject({
    editIntervalMs: { private: 1_100, group: 3_000 },
    burst: { private: 4, group: 5 },
    reservedForFinals: { private: 1, group: 2 },
    groupCallsPerMinute: 20,
    callsPerSecond: { start: 19, usual: 28, most: 60 },
  });
});

it('Discord starts with 45 calls a second, and reserves one of five calls in five seconds for final texts', () => {
  expect(discord.settings.parse({})).toMatchObject({
    editIntervalMs: 1_200,
    burst: 3,
    callsPer5Seconds: 5,
    reservedForFinals: 1,
    callsPerSecond: { start: 45, most: 48 },
  });
});

it('Matrix starts with Synapse’s default burst, at a pace that only an account without a limit can keep', () => {
  expect(matrix.settings.parse({})).toMatchObject({
    editIntervalMs: 2_000,
    burst: 5,
    accountBurst: 10,
    eventsPerSecond: { start: 10, most: 20 },
  });
});
