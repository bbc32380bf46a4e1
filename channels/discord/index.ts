/** The Discord channel: receives messages over Discord's gateway, and sends and edits them over REST. */
import { z } from 'zod';
import type {
  Capabilities,
  Channel,
  ChannelIdentity,
  OutboundFile,
  OutboundPart,
  Shard,
} from '../../src/protocol/channel.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { SharedClock } from '../../src/lib/clock.ts';
import { CHANNEL_TIMING, type ChannelTiming } from '../../src/protocol/channel-settings.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { capabilitiesOf } from './capabilities.ts';
import type { DiscordConfig } from './config.ts';
import { BotRoles } from './guilds/bot-roles.ts';
import { Members } from './guilds/members.ts';
import { questionReactions } from './earlier/question-reactions.ts';
import { FileDownload } from './files/file-download.ts';
import { InteractionEndpoint } from './interactions/endpoint.ts';
import { Interactions } from './interactions/interactions.ts';
import { readGateway } from './gateway/address.ts';
import { ONLY } from './gateway/shard.ts';
import { IdentifyBudget } from './gateway/identify-budget.ts';
import {
  type DiscordDeps,
  Receiving,
  type ReceivingParts,
  type ReceivingSettings,
} from './receiving/receiving.ts';
import { render } from './rendering/render.ts';
import { isReply, Replies } from './replies.ts';
import { DiscordRest } from './rest/rest.ts';
import { channelIdOf, contentOf, Sending, unlessGone } from './sending.ts';
import { MutedNotice } from './earlier/muted-notice.ts';
import { fileRefusal, formsOf } from './files/uploads.ts';
import { pause } from '../../src/lib/async/sleep.ts';
import { QuestionThreads } from './threads/question-threads.ts';
import { stripEnd } from '../../src/lib/text.ts';

/** Discord's own API, without a version. */
const OFFICIAL_ROOT = 'https://discord.com/api';

/** The channel's clock and waits, in milliseconds. */
export interface DiscordTiming extends ChannelTiming {
  /** Waits this many milliseconds, or until the signal aborts. Never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Between two identifies. Discord accepts one per 5 seconds. */
  identifySpacingMs: number;
  /** Between two writes of how far the events of the gateway are stored. */
  saveEveryMs: number;
  /** Between two calls that read missed messages. */
  historySpacingMs: number;
  /** Longest wait for the gateway connection to close during `stop`. */
  closeMs: number;
  /** How long a commit may take before a slash command is deferred without waiting for it; Discord waits 3 seconds. */
  deferAfterMs: number;
}

const TIMING: DiscordTiming = {
  ...CHANNEL_TIMING,
  pause,
  identifySpacingMs: 5_100,
  saveEveryMs: 2_000,
  historySpacingMs: 100,
  closeMs: 2_000,
  deferAfterMs: 1_500,
};

/** Creates the channel; connects nothing before `start`. Never throws. */
export function create(
  config: DiscordConfig,
  deps: DiscordDeps,
  timing: Partial<DiscordTiming> = {},
): Channel {
  return new DiscordChannel(config, deps, { ...TIMING, ...timing });
}

const Self = z.object({ id: z.string(), username: z.string() });

class DiscordChannel implements Channel {
  readonly name = 'discord';
  readonly capabilities: Capabilities;
  readonly render = render;
  readonly #settings: ReceivingSettings;
  readonly #parts: Omit<ReceivingParts, 'receive'>;
  readonly #sending: Sending;
  readonly #replies: Replies;
  readonly download: NonNullable<Channel['download']>;
  readonly react: NonNullable<Channel['react']>;
  readonly interactions: InteractionEndpoint;
  /** By shard number. */
  readonly #receiving = new Map<number, Receiving>();
  #botId: string | undefined;

  constructor(config: DiscordConfig, deps: DiscordDeps, timing: DiscordTiming) {
    const { token } = config;
    const { monotonicMs } = timing;
    const { log, languages } = deps;
    const apiRoot = stripEnd(config.apiRoot ?? OFFICIAL_ROOT, '/');
    const rest = new DiscordRest({ token, apiRoot, monotonicMs });
    const mutedNotice = new MutedNotice(rest, log, languages);
    this.#sending = new Sending(rest, monotonicMs, (channelId) => void mutedNotice.show(channelId));
    this.#replies = new Replies({ rest, sending: this.#sending, epochNow: timing.epochNow });
    const interactions = new Interactions({
      ...timing,
      rest,
      replies: this.#replies,
      sending: this.#sending,
      log,
      suggest: deps.gateway.suggest,
      languages,
      commands: deps.gateway.commands,
    });
    const files = new FileDownload({ rest, apiRoot: config.apiRoot, silenceMs: timing.silenceMs });
    this.download = async (media, signal) => await files.open(media, signal);
    const roles = new BotRoles({ rest, log, epochNow: timing.epochNow });
    const asked = questionReactions(rest, monotonicMs);
    this.react = (question, state) => asked.show(question, state);
    const threads = new QuestionThreads({ rest, log, languages, settings: config.threads });
    this.#parts = {
      ...deps,
      rest,
      interactions,
      mutedNotice,
      files,
      roles,
      questionReactions: asked,
      threads,
      members: new Members(rest),
    };
    const { connections } = deps;
    const clock = new SharedClock(timing);
    const { epochNow } = clock;
    const budget = new IdentifyBudget({ connections, epochNow, spacingMs: timing.identifySpacingMs });
    const botId = async (signal: AbortSignal) => this.#botId ?? (await this.#self(signal)).id;
    this.#settings = { ...timing, epochNow, clock, token, budget, botId };
    const { receive } = deps.gateway;
    this.interactions = new InteractionEndpoint({ ...timing, rest, interactions, receive, botId });
    this.capabilities = capabilitiesOf(config, this.#replies);
  }

  async identify(signal: AbortSignal): Promise<ChannelIdentity> {
    const self = await this.#self(signal);
    const { shards } = await readGateway(this.#parts.rest, signal);
    return { ...self, shards };
  }

  async #self(signal: AbortSignal): Promise<ChannelIdentity> {
    const answer = await this.#parts.rest.call({ method: 'get', path: '/users/@me', bucket: 'me', signal });
    const self = Self.safeParse(answer);
    if (self.success) {
      this.#botId = self.data.id;
      return { id: self.data.id, name: self.data.username };
    }
    throw channelUnavailable('Discord did not say who the bot token belongs to; asking again later.');
  }

  async isAdmin(place: Place, senderId: string): Promise<boolean> {
    return await this.#parts.members.isAdmin(place, senderId);
  }

  async start(receive: Receive, shard: Shard = ONLY): Promise<void> {
    await this.#receiving.get(shard.id)?.stop();
    const receiving = new Receiving(this.#settings, { ...this.#parts, receive }, shard);
    this.#receiving.set(shard.id, receiving);
    await receiving.start();
  }

  async stop(shard?: Shard): Promise<void> {
    const ended = shard === undefined ? [...this.#receiving.values()] : [this.#receiving.get(shard.id)];
    await Promise.all(ended.map(async (receiving) => await receiving?.stop()));
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const content = contentOf(part);
    const later = part.after && (await this.#replies.followUp(part.after, content));
    return later ?? { id: await this.#sending.create(part, content, part) };
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    let refusal = new ChannelError('rejected', `Discord does not accept the file ${file.name} in any form.`);
    for (const { content, files } of await formsOf(file)) {
      try {
        const later = file.after && (await this.#replies.followUp(file.after, content, files));
        return later ?? { id: await this.#sending.create(file, content, file, files) };
      } catch (error) {
        refusal = fileRefusal(error);
      }
    }
    throw refusal;
  }

  async edit(sent: SentMessage, part: OutboundPart): Promise<SentMessage> {
    const channelId = channelIdOf(part);
    if (isReply(sent)) return await this.#replies.edit(sent, channelId, contentOf(part));
    await this.#sending.edit(sent.id, channelId, contentOf(part));
    return sent;
  }

  async removeButtons(sent: SentMessage, place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    const bare = { components: [] };
    if (isReply(sent)) await this.#replies.edit(sent, channelId, bare);
    else await this.#sending.edit(sent.id, channelId, bare);
  }

  async delete(sent: SentMessage, place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    if (isReply(sent)) await unlessGone(this.#replies.delete(sent, channelId));
    else await this.#sending.delete(sent.id, channelId);
  }

  async typing(place: Place): Promise<void> {
    await this.#sending.typing(place);
  }

  health(): ChannelHealth {
    const receiving = worstOf([...this.#receiving.values()].map(({ health }) => health));
    return receiving.state === 'dead' ? receiving : (this.#parts.rest.health ?? receiving);
  }
}

/** From best to worst. */
const STATES: readonly ChannelHealth['state'][] = ['up', 'starting', 'degraded', 'dead'];

/** The state of all shards that this process holds; shards that it has given away do not count. */
function worstOf(shards: readonly ChannelHealth[]): ChannelHealth {
  const held = shards.filter(({ state }) => state !== 'off');
  const [worst] = held.toSorted((one, other) => STATES.indexOf(other.state) - STATES.indexOf(one.state));
  return worst ?? { state: 'off' };
}
