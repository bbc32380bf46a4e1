/**
 * What `parley doctor` asks Telegram about the bot: its token, a webhook left behind, and privacy mode. Does not
 * change anything itself.
 */
import { inEnglish } from '../../../src/protocol/texts/say.ts';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Api } from 'grammy/web';
import type { ChannelAccess } from '../../../src/protocol/access.ts';
import type { CheckContext, Finding } from '../../../src/protocol/channel.ts';
import { stripEnd } from '../../../src/lib/text.ts';
import { toChannelError } from '../api/errors.ts';
import { createFetch } from '../api/http-call.ts';
import { webhookAddress, type WebhookInfo, webhookTrouble } from '../receiving/webhook-info.ts';
import { groupsThatNeedAll, PRIVACY_REMEDY } from '../privacy.ts';
import type { GrammySignal } from '../files/uploads.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';

const SUBJECT = 'Telegram';
const OFFICIAL_ROOT = 'https://api.telegram.org';

/** The bot to check. `token` is secret. */
export interface CheckedBot {
  token: string;
  apiRoot?: string | undefined;
  access: ChannelAccess | undefined;
  /** `channels.telegram.webhook.url`, if any. */
  webhookUrl: string | undefined;
}

/** Asks with `getMe` and `getWebhookInfo`. Never throws. */
export async function check(bot: CheckedBot, { signal }: CheckContext): Promise<Finding[]> {
  const { token } = bot;
  const apiRoot = stripEnd(bot.apiRoot ?? OFFICIAL_ROOT, '/');
  const agent = apiRoot.startsWith('http:') ? new HttpAgent() : new HttpsAgent();
  const api = new Api(token, { apiRoot, fetch: createFetch(agent) });
  const limit = signal as GrammySignal;
  let method = 'getMe';
  try {
    const me = await api.getMe(limit);
    method = 'getWebhookInfo';
    const info = await api.getWebhookInfo(limit);
    return [
      { subject: SUBJECT, level: 'ok', text: `The token belongs to @${me.username}.` },
      ...receivingFindings(bot.webhookUrl, info, () =>
        api.deleteWebhook({ drop_pending_updates: false }, limit),
      ),
      privacyFinding(me.can_read_all_group_messages, bot.access),
    ];
  } catch (error) {
    const failure = toChannelError(error, { method, token, duplicateVisible: false });
    const remedy =
      failure.code === 'unauthorized'
        ? 'set TELEGRAM_BOT_TOKEN to the token that @BotFather shows for the bot (/mybots, API Token)'
        : 'check whether this machine can reach api.telegram.org, or correct TELEGRAM_API_ROOT';
    return [{ subject: SUBJECT, level: 'error', text: failure.message, remedy }];
  } finally {
    agent.destroy();
  }
}

/**
 * How the bot receives updates; the address of another program's webhook may contain a secret, so it is not reported.
 */
function receivingFindings(
  webhookUrl: string | undefined,
  info: WebhookInfo,
  remove: () => Promise<unknown>,
): Finding[] {
  if (webhookUrl !== undefined) return [webhookFinding(webhookAddress(webhookUrl), info)];
  if ((info.url ?? '') === '') return [];
  return [
    {
      subject: SUBJECT,
      level: 'error',
      text: 'A webhook is set for this bot, so another program gets its messages, or none does.',
      remedy: `${PARLEY} doctor --fix removes it; messages that wait at Telegram are kept`,
      fix: { done: "removed the bot's webhook at Telegram", apply: async () => void (await remove()) },
    },
  ];
}

/** Whether Telegram's posts arrive at the configured webhook. */
function webhookFinding(address: string, info: WebhookInfo): Finding {
  const waiting = info.pending_update_count ?? 0;
  if (info.url !== address) {
    return {
      subject: SUBJECT,
      level: 'warning',
      text: `The webhook is not set yet; ${waiting} updates wait at Telegram.`,
      remedy: 'start the gateway: it sets the webhook of channels.telegram.webhook.url',
    };
  }
  const trouble = webhookTrouble(info, Date.now());
  if (trouble === undefined)
    return {
      subject: SUBJECT,
      level: 'ok',
      text: `The webhook is set; ${waiting} updates wait at Telegram.`,
    };
  const remedy = `see whether ${address} reaches the gateway from the internet, with the Host in channels.http.allowedHosts`;
  return { subject: SUBJECT, level: 'error', text: inEnglish.text(trouble), remedy };
}

function privacyFinding(readsAll: boolean | undefined, access: ChannelAccess | undefined): Finding {
  if (readsAll === true)
    return {
      subject: SUBJECT,
      level: 'ok',
      text: 'Privacy mode is off: the bot sees all messages of its groups.',
    };
  const needing = groupsThatNeedAll(access);
  const text = 'Privacy mode is on: in groups the bot sees commands, mentions and replies to it.';
  if (needing.length === 0) return { subject: SUBJECT, level: 'ok', text };
  return {
    subject: SUBJECT,
    level: 'warning',
    text: `${text} The settings of ${needing.join(', ')} ask for all messages.`,
    remedy: PRIVACY_REMEDY,
  };
}
