/** What `parley doctor` asks Slack about the bot: its tokens and its scopes. Changes nothing. */
import { z } from 'zod';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Finding } from '../../src/protocol/channel.ts';
import { SlackApi } from './web-api.ts';

const finding = findingsOn('Slack');

/** Scopes that features depend on, and which feature fails without each. */
const SCOPES: Readonly<Record<string, string>> = {
  'chat:write': 'write messages',
  'app_mentions:read': 'see where it is mentioned',
  'im:history': 'read direct messages',
  'channels:history': 'read public channels',
  'groups:history': 'read private channels',
  'mpim:history': 'read group messages',
  'users:read': 'know the names and roles of people',
  'channels:read': 'know who created a public channel',
  'groups:read': 'know who created a private channel',
  'mpim:read': 'know who created a group message',
  'files:read': 'read files that people send',
  'files:write': 'send files',
  commands: 'offer the command /parley',
  'reactions:read': 'see reactions that end an answer',
  'reactions:write': 'show the state of a question by a reaction',
};

const Tested = z.object({
  user: z.string().optional(),
  team: z.string().optional(),
  response_metadata: z.object({ scopes: z.array(z.string()).optional() }).optional(),
});

/** Calls the bot's `auth.test` and `apps.connections.open`, whose address is not used. The tokens are secret. Never throws. */
export async function check(
  token: string,
  appToken: string | undefined,
  apiRoot: string | undefined,
): Promise<Finding[]> {
  const apiWith = (secret: string): SlackApi => new SlackApi(secret, apiRoot, () => performance.now());
  const bot = await findingsOf(
    async () => {
      const answer = await apiWith(token).call('auth.test', {});
      const { user, team, response_metadata: metadata } = Tested.parse(answer);
      const name = `The token belongs to ${user ?? 'the bot'} in the workspace ${team ?? ''}.`;
      return [finding('ok', name), ...scopesFinding(metadata?.scopes)];
    },
    'set SLACK_BOT_TOKEN to the Bot User OAuth Token (OAuth & Permissions)',
    'The bot token is refused.',
  );
  if (appToken === undefined) {
    const text = 'SLACK_APP_TOKEN is not set: no messages arrive.';
    const remedy = 'set it to an App-Level Token with connections:write (Basic Information)';
    return [...bot, finding('error', text, remedy)];
  }
  const app = await findingsOf(
    async () => {
      await apiWith(appToken).call('apps.connections.open', {});
      return [finding('ok', 'Socket Mode is on, and the app token opens it.')];
    },
    'set SLACK_APP_TOKEN to an App-Level Token with connections:write (Basic Information), and switch Socket Mode on',
    'The app token is refused, or Socket Mode is off.',
  );
  return [...bot, ...app];
}

async function findingsOf(
  ask: () => Promise<Finding[]>,
  remedy: string,
  refusal: string,
): Promise<Finding[]> {
  try {
    return await ask();
  } catch (error) {
    const { code } = toGatewayError(error);
    if (code === 'unavailable' || code === 'rate_limited')
      return [finding('error', 'Slack cannot be reached.', 'check whether this machine can reach slack.com')];
    return [finding('error', refusal, remedy)];
  }
}

/** Slack names the scopes in a header of every answer. */
function scopesFinding(scopes: string[] | undefined): Finding[] {
  if (scopes === undefined) return [];
  const missing = Object.entries(SCOPES).filter(([scope]) => !scopes.includes(scope));
  if (missing.length === 0) return [finding('ok', 'The bot has all its scopes.')];
  const text = `The bot cannot ${missing.map(([scope, ability]) => `${ability} (${scope})`).join(', ')}.`;
  const remedy =
    'add the scopes (your app at api.slack.com/apps, OAuth & Permissions) and install the app again';
  return [finding('warning', text, remedy)];
}
