/** The Slack channel: receives messages over Socket Mode, and sends and edits them over the Web API. */
import { z } from 'zod';
import type { Channel, ChannelDeps } from '../../src/protocol/channel.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import { channelUnavailable, ConfigError } from '../../src/protocol/errors.ts';
import {
  CHANNEL_TIMING,
  type PaceSettings,
  type ShowingSettings,
  usualCapabilities,
} from '../../src/protocol/channel-settings.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import { SharedClock } from '../../src/lib/clock.ts';
import { Files, MAX_UPLOAD_BYTES } from './files.ts';
import type { Self } from './inbound.ts';
import { isAdministrator, People } from './people.ts';
import { readThread } from './thread.ts';
import { Receiving } from './receiving.ts';
import { render } from './render.ts';
import { MAX_LENGTH, Sending, showingTables } from './sending.ts';
import { questionReactions, Status, STATUS_MS } from './status.ts';
import { SlackApi, type SlackTiming } from './web-api.ts';

/** Settings of the channel, checked by its manifest. */
export interface SlackConfig extends ShowingSettings {
  /** Secret. */
  token: string;
  /** Secret; with it the connection is opened over which messages arrive. */
  appToken?: string | undefined;
  /** Another server that implements Slack's API; Slack's own by default. */
  apiRoot?: string | undefined;
  editsPerSecond: PaceSettings;
}

const TIMING: SlackTiming = {
  ...CHANNEL_TIMING,
  saveEveryMs: 5_000,
  historySpacingMs: 1_250,
  closeMs: 2_000,
  deferAfterMs: 2_000,
};

const NO_APP_TOKEN =
  'SLACK_BOT_TOKEN is set, but SLACK_APP_TOKEN is not: create an App-Level Token with the scope connections:write (your app at api.slack.com/apps, Basic Information) and set SLACK_APP_TOKEN to it.';

/** Creates the channel; connects nothing before `start`. Throws `ConfigError` without an app token. */
export function create(config: SlackConfig, deps: ChannelDeps, waits: Partial<SlackTiming> = {}): Channel {
  const { token, appToken, apiRoot } = config;
  if (appToken === undefined) throw new ConfigError('bad_config', NO_APP_TOKEN);
  const timing = { ...TIMING, ...waits };
  const [{ epochNow, monotonicMs }, { log, languages }] = [timing, deps];
  const api = new SlackApi(token, apiRoot, monotonicMs);
  const appApi = new SlackApi(appToken, apiRoot, monotonicMs);
  const files = new Files(api, token, apiRoot, log, timing.silenceMs);
  const sending = new Sending(api, log, epochNow);
  const status = new Status(api, log, epochNow, languages);
  const reactions = questionReactions(api, monotonicMs);
  const clock = new SharedClock(timing);
  const shared = { ...timing, epochNow: clock.epochNow };
  const people = new People(api, log, epochNow);
  const parts = { ...deps, api, appApi, apiRoot, sending, people, status, reactions, clock };
  let receiving: Receiving | undefined;
  let self: Self | undefined;
  const knownSelf = async (): Promise<Self> => (self ??= await readSelf(api));
  return {
    name: 'slack',
    capabilities: capabilitiesOf(config),
    render,
    identify: async () => {
      self = await readSelf(api);
      return { id: `${self.teamId}.${self.userId}`, name: self.name };
    },
    start: async (receive) => {
      await receiving?.stop();
      receiving = new Receiving({ ...parts, timing: shared, self: await knownSelf(), receive });
      await receiving.start();
    },
    stop: async () => await receiving?.stop(),
    send: async (part) => {
      const message = await showingTables(part, (fields) => sending.post(part, fields, part.nonce));
      status.posted(part);
      return message;
    },
    sendFile: (file) => files.send(file),
    edit: async (message, part) => {
      await showingTables(part, (fields) => sending.edit(message, part, fields));
      await status.edited(part);
      return message;
    },
    delete: async (message, place) => {
      const file = message.metadata?.['file'];
      await (file === undefined ? sending.delete(message, place) : files.delete(file));
    },
    download: (media, signal) => files.open(media, signal),
    typing: (place) => status.show(place),
    react: (question, state) => reactions.show(question, state),
    before: async (...range) =>
      await readThread({ api, people, self: await knownSelf(), epochNow }, ...range),
    isAdmin: async ({ chatId }, senderId) =>
      await isAdministrator(api, chatId, senderId, (await knownSelf()).teamId),
    health: () => {
      const health = receiving?.health ?? { state: 'off' };
      return health.state === 'off' ? health : (api.health ?? health);
    },
  };
}

const Tested = z.object({
  team_id: z.string(),
  user_id: z.string(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
});

/** Asks with `auth.test`. Throws `ChannelError`. */
async function readSelf(api: SlackApi): Promise<Self> {
  const { data } = Tested.safeParse(await api.call('auth.test', {}));
  if (data === undefined) throw channelUnavailable(textRef('health.not_read', { network: 'Slack' }));
  const { team_id: teamId, user_id: userId, bot_id: botId = '', user: name = userId } = data;
  return { teamId, userId, botId, name };
}

function capabilitiesOf(config: SlackConfig) {
  return usualCapabilities({
    reactsIn: config.reactions,
    followUps: config.followUps,
    forms: true,
    maxFileBytes: MAX_UPLOAD_BYTES,
    maxLength: MAX_LENGTH,
    rates: {
      callsPerSecond: config.editsPerSecond,
      of: ({ chatId }, first) => rateOf(config, chatId, first !== undefined),
      ofReactions: () => ({ ...rateOf(config, '', false), key: 'reactions' }),
    },
    typingMs: STATUS_MS,
  });
}

/**
 * `reactions.add` and `reactions.remove` have their own limits for the whole workspace (`ofReactions`).
 * `chat.postMessage` has a separate limit for each channel, `chat.update` one for the whole workspace: the first
 * messages of answers do not wait for edits elsewhere.
 */
function rateOf(config: SlackConfig, chatId: string, isEdit: boolean): PlaceRate {
  return {
    key: isEdit ? `edit ${chatId}` : `post ${chatId}`,
    editIntervalMs: config.editIntervalMs,
    burst: config.burst,
    reserved: 1,
    countsForBot: isEdit,
  };
}
