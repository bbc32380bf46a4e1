/** What the gateway knows about Slack before it loads the channel: its settings, its ids and its secrets. */
import { z } from 'zod';
import { defineChannel } from '../../src/protocol/channel.ts';
import {
  editInterval,
  followUpSetting,
  paceSettings,
  reactionSettings,
} from '../../src/protocol/channel-settings.ts';
import { CHAT_ID, privacyOf, USER_ID } from './events.ts';

export const manifest = defineChannel({
  name: 'slack',
  label: 'Slack',
  // Slack has no slash commands in threads; there, people mention the app by the name in its manifest.
  writeCommand: (name, { threadId }) => (threadId === undefined ? `/parley ${name}` : `@parley /${name}`),
  needs: 'SLACK_BOT_TOKEN',
  tokenPage: 'https://api.slack.com/apps',
  alsoNeeds: { SLACK_APP_TOKEN: 'App-level token of the Slack app (xapp-…)' },
  env: z.object({
    SLACK_BOT_TOKEN: z
      .string()
      .regex(/^xoxb-\S+$/, 'must be the Bot User OAuth Token, which begins with xoxb-')
      .optional()
      .describe('switches Slack on, together with `SLACK_APP_TOKEN`'),
    SLACK_APP_TOKEN: z
      .string()
      .regex(
        /^xapp-\S+$/,
        'must be an App-Level Token with the scope connections:write, which begins with xapp-',
      )
      .optional()
      .describe('opens the connection over which messages arrive (Socket Mode)'),
    SLACK_API_ROOT: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe("another address of Slack's API, for tests"),
  }),
  settings: z.strictObject({
    editIntervalMs: editInterval(
      1_500,
      'minimum milliseconds between two edits of a growing answer in one channel',
    ),
    burst: z
      .int()
      .min(2)
      .max(100)
      .default(3)
      .describe('messages that may go out at once in a channel, where Slack allows about one a second'),
    reactions: reactionSettings({
      private:
        'show at a question in a direct message that it waits ⏳, is worked on 👀, was answered ✅ or failed ❌',
      group: 'the same in a channel',
    }),
    followUps: followUpSetting('a thread'),
    /** `chat.update` is in Tier 3: at least 50 calls per minute in a workspace. */
    editsPerSecond: paceSettings(
      { least: 0.1, start: 0.8, most: 4 },
      {
        start: 'edits a second in the whole workspace at first',
        most: 'what it may rise to while edits wait and Slack refuses none',
      },
    ),
  }),
  ids: {
    userId: USER_ID,
    chatId: CHAT_ID,
    description: 'an id such as U0123ABC456 or C0123ABC456',
    privacyOf,
  },
  secretShapes: [{ pattern: /\bx(?:ox[a-z]|app)-[A-Za-z0-9-]{8,}/, replacement: '[slack-token]' }],
  isOn: ({ SLACK_BOT_TOKEN }) => SLACK_BOT_TOKEN !== undefined,
  secrets: ({ SLACK_BOT_TOKEN, SLACK_APP_TOKEN }) => [SLACK_BOT_TOKEN, SLACK_APP_TOKEN],
  async check({ env }) {
    const { check } = await import('./check.ts');
    const { SLACK_BOT_TOKEN: token = '', SLACK_APP_TOKEN: appToken, SLACK_API_ROOT: apiRoot } = env;
    return await check(token, appToken, apiRoot);
  },
  async create({ env, settings }, deps) {
    const { create } = await import('./index.ts');
    const { SLACK_BOT_TOKEN: token = '', SLACK_APP_TOKEN: appToken, SLACK_API_ROOT: apiRoot } = env;
    return create({ token, appToken, apiRoot, ...settings }, deps);
  },
});
