/** What `parley doctor` asks Telegram about the bot: its token, a leftover webhook, privacy mode. Changes nothing. */
import { Api } from 'grammy/web';
import type { ChannelAccess } from '../../src/protocol/access.ts';
import type { CheckContext, Finding } from '../../src/protocol/channel.ts';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';
import { agentOf, rootOf } from './bot-api.ts';
import type { GrammySignal } from './call-options.ts';
import { toChannelError } from './errors.ts';
import type { TelegramConfig } from './config.ts';
import { createFetch } from './http-call.ts';
import { webhookAddress, type WebhookInfo, webhookTrouble } from './receiving/update-sources.ts';
import { groupsThatNeedAll } from './receiving/receiving.ts';

const finding = findingsOn('Telegram');

/** How to let the bot see all messages. */
const PRIVACY_REMEDY =
  'turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the group and add it again';

/** No account can be connected, although the settings ask for it. */
const NO_SECRETARY = finding(
  'warning',
  'The bot cannot be connected to an account, so it answers in no one’s name.',
  'switch on Secretary Mode at @BotFather (the bot, Bot Settings), or remove channels.telegram.business',
);

/** Of a check, not of a channel that runs: nothing is asked again. */
const TOKEN_REFUSED = finding(
  'error',
  'Telegram refuses the bot token.',
  'set TELEGRAM_BOT_TOKEN to the token that @BotFather shows for the bot (/mybots, API Token)',
);

/** Asks with `getMe` and `getWebhookInfo`; `token` is secret. Never throws. */
export async function check(
  token: string,
  configuredRoot: string | undefined,
  access: ChannelAccess | undefined,
  { webhook, business }: Pick<TelegramConfig, 'webhook' | 'business'>,
  { signal }: CheckContext,
): Promise<Finding[]> {
  const apiRoot = rootOf(configuredRoot);
  const agent = new (agentOf(apiRoot))();
  const api = new Api(token, { apiRoot, fetch: createFetch(agent) });
  const limit = signal as GrammySignal;
  let method = 'getMe';
  try {
    const me = await api.getMe(limit);
    method = 'getWebhookInfo';
    const info = await api.getWebhookInfo(limit);
    return [
      finding('ok', `The token belongs to @${me.username}.`),
      ...receivingFindings(webhook?.url, info, () =>
        api.deleteWebhook({ drop_pending_updates: false }, limit),
      ),
      privacyFinding(me.can_read_all_group_messages, access),
      ...(business && !me.can_connect_to_business ? [NO_SECRETARY] : []),
    ];
  } catch (error) {
    const failure = toChannelError(error, method, token);
    if (failure.code === 'unauthorized') return [TOKEN_REFUSED];
    const remedy = 'check whether this machine can reach api.telegram.org, or correct TELEGRAM_API_ROOT';
    return [finding('error', failure.message, remedy)];
  } finally {
    agent.destroy();
  }
}

/** How the bot receives updates; another program's webhook address may contain a secret, and is not reported. */
function receivingFindings(
  webhookUrl: string | undefined,
  info: WebhookInfo,
  remove: () => Promise<unknown>,
): Finding[] {
  if (webhookUrl !== undefined) return [webhookFinding(webhookAddress(webhookUrl), info)];
  if ((info.url ?? '') === '') return [];
  return [
    {
      ...finding(
        'error',
        'A webhook is set for this bot, so another program gets its messages, or none does.',
        `${PARLEY} doctor --fix removes it; messages that wait at Telegram are kept`,
      ),
      fix: { done: "removed the bot's webhook at Telegram", apply: async () => void (await remove()) },
    },
  ];
}

/** Whether Telegram's posts arrive at the configured webhook. */
function webhookFinding(address: string, info: WebhookInfo): Finding {
  const pending = info.pending_update_count ?? 0;
  if (info.url !== address)
    return finding(
      'warning',
      `The webhook is not set yet; ${pending} updates wait at Telegram.`,
      'start the gateway: it sets the webhook of channels.telegram.webhook.url',
    );
  const trouble = webhookTrouble(info, Date.now());
  if (trouble === undefined) return finding('ok', `The webhook is set; ${pending} updates wait at Telegram.`);
  const remedy = `see whether ${address} reaches the gateway from the internet, with the Host in channels.http.allowedHosts`;
  return finding('error', inEnglish.text(trouble), remedy);
}

function privacyFinding(readsAll: boolean | undefined, access: ChannelAccess | undefined): Finding {
  if (readsAll === true)
    return finding('ok', 'Privacy mode is off: the bot sees all messages of its groups.');
  const groups = groupsThatNeedAll(access);
  const text = 'Privacy mode is on: in groups the bot sees commands, mentions and replies to it.';
  if (groups.length === 0) return finding('ok', text);
  return finding(
    'warning',
    `${text} The settings of ${groups.join(', ')} ask for all messages.`,
    PRIVACY_REMEDY,
  );
}
