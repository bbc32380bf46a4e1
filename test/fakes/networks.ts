/** The fakes of all networks together, as the settings of a gateway name them. */
import type { FakeDiscord } from './discord/discord.ts';
import { type FakeHomeserver, MATRIX_TOKEN } from './matrix/homeserver.ts';
import { type FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from './slack/slack.ts';
import { FAKE_TOKEN, type FakeTelegram } from './telegram/telegram.ts';

export interface FakeNetworks {
  telegram: Pick<FakeTelegram, 'root'>;
  discord: Pick<FakeDiscord, 'token' | 'apiRoot'>;
  slack: Pick<FakeSlack, 'apiRoot'>;
  matrix: Pick<FakeHomeserver, 'root'>;
}

/** The environment variables that switch the channels of these networks on. */
export function variablesOf({
  telegram,
  discord,
  slack,
  matrix,
}: Partial<FakeNetworks>): Record<string, string> {
  return {
    ...(telegram && { TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root }),
    ...(discord && { DISCORD_BOT_TOKEN: discord.token, DISCORD_API_ROOT: discord.apiRoot }),
    ...(slack && { SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_APP_TOKEN, SLACK_API_ROOT: slack.apiRoot }),
    ...(matrix && { MATRIX_URL: matrix.root, MATRIX_TOKEN }),
  };
}
