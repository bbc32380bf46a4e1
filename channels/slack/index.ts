/** The Slack channel: receives messages over Socket Mode, and sends and edits them over the Web API. */
import { z } from 'zod';
import type {
  Capabilities,
  Channel,
  ChannelIdentity,
  OutboundFile,
  OutboundPart,
} from '../../src/protocol/channel.ts';
import { ConfigError, channelUnavailable } from '../../src/protocol/errors.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import {
  CHANNEL_TIMING,
  type ChannelTiming,
  type PaceSettings,
  type ShowingSettings,
  usualCapabilities,
} from '../../src/protocol/channel-settings.ts';
import { SharedClock } from '../../src/lib/shared-clock.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { isAdministrator } from './administrators.ts';
import { FileDownload } from './files/download.ts';
import { FileUpload, MAX_UPLOAD_BYTES } from './files/upload.ts';
import type { Self } from './inbound.ts';
import { fieldsOf, MAX_LENGTH } from './message-fields.ts';
import { questionReactions } from './question-reactions.ts';
import { People } from './receiving/people.ts';
import {
  Receiving,
  type ReceivingParts,
  type ReceivingSettings,
  type SlackDeps,
} from './receiving/receiving.ts';
import { render } from './rendering/render.ts';
import { Sending } from './sending.ts';
import { Status, STATUS_MS } from './status.ts';
import { SlackApi } from './web-api.ts';

/** Settings of the channel, checked by its manifest. */
export interface SlackConfig extends ShowingSettings {
  /** Secret. */
  token: string;
  /** Secret. */
  appToken: string | undefined;
  /** Another server that implements Slack's API; Slack's own by default. */
  apiRoot?: string | undefined;
  /** Edits in the workspace. */
  editsPerSecond: PaceSettings;
}

/** The channel's clock and waits, in milliseconds. */
export interface SlackTiming extends ChannelTiming {
  /** Between two writes of how far everything is stored. */
  saveEveryMs: number;
  /** Between two calls that read missed messages. */
  historySpacingMs: number;
  /** Longest wait for the connection to close during `stop`. */
  closeMs: number;
  /**
   * How long a commit may take before a slash command is acknowledged without waiting for it; Slack waits 3 seconds.
   */
  deferAfterMs: number;
}

const TIMING: SlackTiming = {
  ...CHANNEL_TIMING,
  saveEveryMs: 5_000,
  historySpacingMs: 1_250,
  closeMs: 2_000,
  deferAfterMs: 2_000,
};

const NO_APP_TOKEN =
  'SLACK_BOT_TOKEN is set, but SLACK_APP_TOKEN is not: make an App-Level Token with the scope connections:write (your app at api.slack.com/apps, Basic Information) and set SLACK_APP_TOKEN to it.';

/** Creates the channel; connects nothing before `start`. Throws `ConfigError` without an app token. */
export function create(config: SlackConfig, deps: SlackDeps, timing: Partial<SlackTiming> = {}): Channel {
  const { appToken } = config;
  if (appToken === undefined) throw new ConfigError('bad_config', NO_APP_TOKEN);
  return new SlackChannel({ ...config, appToken }, deps, { ...TIMING, ...timing });
}

const Tested = z.object({
  team_id: z.string(),
  user_id: z.string(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
});

class SlackChannel implements Channel {
  readonly name = 'slack';
  readonly capabilities: Capabilities;
  readonly render = render;
  readonly download: NonNullable<Channel['download']>;
  readonly react: NonNullable<Channel['react']>;
  readonly #settings: ReceivingSettings;
  readonly #parts: Omit<ReceivingParts, 'receive' | 'self'>;
  readonly #api: SlackApi;
  readonly #sending: Sending;
  readonly #uploads: FileUpload;
  readonly #status: Status;
  #receiving: Receiving | undefined;
  #self: Self | undefined;

  constructor(config: SlackConfig & { appToken: string }, deps: SlackDeps, timing: SlackTiming) {
    const { token, appToken, apiRoot } = config;
    const { epochNow, monotonicMs } = timing;
    const { log } = deps;
    this.#api = new SlackApi({ token, apiRoot, monotonicMs });
    const files = { api: this.#api, token, apiRoot, log, silenceMs: timing.silenceMs };
    const downloads = new FileDownload(files);
    this.download = async (media, signal) => await downloads.open(media, signal);
    this.#uploads = new FileUpload(files);
    this.#sending = new Sending({ api: this.#api, log, epochNow });
    this.#status = new Status({ api: this.#api, log, epochNow, languages: deps.languages });
    const reactions = questionReactions(this.#api, monotonicMs);
    this.react = (question, state) => reactions.show(question, state);
    const people = new People({ api: this.#api, log, epochNow });
    this.#parts = {
      ...deps,
      api: this.#api,
      sending: this.#sending,
      people,
      status: this.#status,
      reactions,
    };
    const appApi = new SlackApi({ token: appToken, apiRoot, monotonicMs });
    const clock = new SharedClock(timing);
    this.#settings = { ...timing, epochNow: clock.epochNow, clock, api: appApi, apiRoot, log };
    this.capabilities = usualCapabilities({
      reactsIn: config.reactions,
      maxFileBytes: MAX_UPLOAD_BYTES,
      maxLength: MAX_LENGTH,
      rates: {
        callsPerSecond: config.editsPerSecond,
        of: (place, first) => rateOf(config, place, first),
        ofReactions: () => ({ ...rateOf(config, { chatId: '' }, undefined), key: 'reactions' }),
      },
      typingMs: STATUS_MS,
    });
  }

  async identify(): Promise<ChannelIdentity> {
    const { teamId, userId, name } = await this.#askSelf();
    return { id: `${teamId}.${userId}`, name };
  }

  async start(receive: Receive): Promise<void> {
    await this.#receiving?.stop();
    const self = this.#self ?? (await this.#askSelf());
    this.#receiving = new Receiving(this.#settings, { ...this.#parts, self, receive });
    await this.#receiving.start();
  }

  async stop(): Promise<void> {
    await this.#receiving?.stop();
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const sent = await this.#sending.post(part, fieldsOf(part), part.nonce);
    this.#status.posted(part);
    return sent;
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    return await this.#uploads.send(file);
  }

  async edit(sent: SentMessage, part: OutboundPart): Promise<SentMessage> {
    await this.#sending.edit(sent, part, fieldsOf(part));
    await this.#status.edited(part);
    return sent;
  }

  async typing(place: Place): Promise<void> {
    await this.#status.show(place);
  }

  async delete(sent: SentMessage, place: Place): Promise<void> {
    const file = sent.metadata?.['file'];
    if (file === undefined) await this.#sending.delete(sent, place);
    else await this.#uploads.delete(file);
  }

  async isAdmin({ chatId }: Place, senderId: string): Promise<boolean> {
    const { teamId } = this.#self ?? (await this.#askSelf());
    return await isAdministrator(this.#api, { chatId, userId: senderId, teamId });
  }

  health(): ChannelHealth {
    const receiving = this.#receiving?.health ?? { state: 'off' };
    return receiving.state === 'off' ? receiving : (this.#api.health ?? receiving);
  }

  async #askSelf(): Promise<Self & { name: string }> {
    const { data } = Tested.safeParse(await this.#api.call('auth.test', {}));
    if (data === undefined) throw channelUnavailable(textRef('health.not_read', { network: 'Slack' }));
    const { team_id: teamId, user_id: userId, bot_id: botId = '', user: name = userId } = data;
    this.#self = { teamId, userId, botId };
    return { teamId, userId, botId, name };
  }
}

/**
 * `reactions.add` and `reactions.remove` have their own limits for the whole workspace (`ofReactions`).
 * `chat.postMessage` has a separate limit for each channel, `chat.update` one for the whole workspace: the first
 * messages of answers do not wait for edits elsewhere.
 */
function rateOf(
  config: SlackConfig,
  { chatId }: Pick<Place, 'chatId'>,
  first: SentMessage | undefined,
): PlaceRate {
  const isEdit = first !== undefined;
  return {
    key: isEdit ? `edit ${chatId}` : `post ${chatId}`,
    editIntervalMs: config.editIntervalMs,
    burst: config.burst,
    reserved: 1,
    countsForBot: isEdit,
  };
}
