/**
 * The Discord channel: receives messages over Discord's gateway, and sends and edits them over REST.
 *
 * It uses discord.js's REST client, routes, enums, permissions and errors, but not its `Client`: that keeps its session
 * in the process, so it could not resume after a restart or on another node, and each start would count against the
 * 1,000 a day. The shard of `@discordjs/ws` takes its session from outside. Importing discord.js as a whole adds 6 MB of
 * heap, some 15 MB of resident memory and 0.2 s of CPU to its REST and gateway packages, only where Discord is on.
 */
import { Routes } from 'discord.js';
import { z } from 'zod';
import type {
  Capabilities,
  Channel,
  ChannelDeps,
  ChannelIdentity,
  EarlierMessage,
  OutboundFile,
  OutboundPart,
  Shard,
} from '../../src/protocol/channel.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import { usualCapabilities } from '../../src/protocol/channel-settings.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { SharedClock } from '../../src/lib/clock.ts';
import { type DiscordConfig, type DiscordTiming, TIMING } from './config.ts';
import { FileDownload } from './file-download.ts';
import { IdentifyBudget } from './gateway/identify-budget.ts';
import { ONLY, readGateway } from './gateway/shard.ts';
import { Guilds } from './guilds.ts';
import { InteractionEndpoint } from './interactions/endpoint.ts';
import { Interactions } from './interactions/interactions.ts';
import { QuestionThreads } from './question-threads.ts';
import { MutedNotice, questionReactions } from './reactions.ts';
import { Receiving, type ReceivingParts } from './receiving/receiving.ts';
import { readThread } from './receiving/messages.ts';
import { render } from './render.ts';
import { isReply, Replies } from './replies.ts';
import { DiscordRest } from './rest.ts';
import {
  channelIdOf,
  contentOf,
  fileRefusal,
  formsOf,
  MAX_LENGTH,
  MAX_UPLOAD_BYTES,
  Sending,
  unlessGone,
} from './sending.ts';

/** Typing shows for this long. */
const TYPING_MS = 10_000;
/** The window of Discord's limit on messages and edits in one channel. */
const WINDOW_MS = 5_000;

/** Creates the channel; connects nothing before `start`. Never throws. */
export function create(
  config: DiscordConfig,
  deps: ChannelDeps,
  timing: Partial<DiscordTiming> = {},
): Channel {
  return new DiscordChannel(config, deps, { ...TIMING, ...timing });
}

/** Longest wait for Discord to say who the bot is, in milliseconds. */
const SELF_MS = 5_000;

const User = z.object({ id: z.string(), username: z.string() });

class DiscordChannel implements Channel {
  readonly name = 'discord';
  readonly capabilities: Capabilities;
  readonly render = render;
  readonly #rest: DiscordRest;
  readonly #parts: ReceivingParts;
  readonly #sending: Sending;
  readonly #replies: Replies;
  readonly download: NonNullable<Channel['download']>;
  readonly react: NonNullable<Channel['react']>;
  readonly interactions: InteractionEndpoint;
  readonly #receiving = new Map<number, Receiving>();
  #botId: string | undefined;

  constructor(config: DiscordConfig, deps: ChannelDeps, timing: DiscordTiming) {
    const { token, apiRoot } = config;
    const { log, languages, connections } = deps;
    const { monotonicMs, epochNow } = timing;
    const rest = new DiscordRest(token, apiRoot, monotonicMs);
    const mutedNotice = new MutedNotice(rest, log, languages);
    this.#rest = rest;
    this.#sending = new Sending(rest, monotonicMs, (channelId) => void mutedNotice.show(channelId));
    this.#replies = new Replies(rest, this.#sending, epochNow);
    const interactions = new Interactions(rest, this.#sending, this.#replies, deps, timing);
    const botId = async (signal: AbortSignal) => this.#botId ?? (await this.#self(signal)).id;
    this.interactions = new InteractionEndpoint(rest, epochNow, async (event, signal) => {
      await interactions.takeEvent(event, deps.gateway.receive, await botId(signal));
    });
    const files = new FileDownload(rest, apiRoot, timing.silenceMs);
    this.download = async (media, signal) => await files.open(media, signal);
    const reactions = questionReactions(rest, monotonicMs);
    this.react = (question, state) => reactions.show(question, state);
    const clock = new SharedClock(timing);
    this.#parts = {
      deps,
      token,
      timing: { ...timing, epochNow: clock.epochNow },
      clock,
      budget: new IdentifyBudget(connections, clock.epochNow, timing.identifySpacingMs),
      botId,
      rest,
      interactions,
      mutedNotice,
      files,
      guilds: new Guilds(rest, log, epochNow),
      questionReactions: reactions,
      threads: new QuestionThreads(rest, log, languages, config.threads),
    };
    this.capabilities = usualCapabilities({
      reactsIn: config.reactions,
      answerButtons: config.answerButtons,
      followUps: config.followUps,
      forms: true,
      maxFileBytes: MAX_UPLOAD_BYTES,
      maxLength: MAX_LENGTH,
      rates: {
        callsPerSecond: config.callsPerSecond,
        of: (place, first) => rateOf(config, place, first && this.#replies.tokenOf(first)),
      },
      typingMs: TYPING_MS,
    });
  }

  async identify(signal: AbortSignal): Promise<ChannelIdentity> {
    const self = await this.#self(signal);
    const { shards } = await readGateway(this.#rest, signal);
    return { ...self, shards };
  }

  async #self(signal: AbortSignal): Promise<ChannelIdentity> {
    const { data: user } = User.safeParse(await this.#rest.get(Routes.user(), 'me', signal));
    if (user !== undefined) {
      this.#botId = user.id;
      return { id: user.id, name: user.username };
    }
    throw channelUnavailable('Discord did not say whose bot token this is; asking again later.');
  }

  async before(thread: Place, messageId: string | undefined, limit: number): Promise<EarlierMessage[]> {
    const botId = this.#botId ?? (await this.#self(AbortSignal.timeout(SELF_MS))).id;
    return await readThread(this.#rest, botId, channelIdOf(thread), { messageId, limit });
  }

  async isAdmin(place: Place, senderId: string): Promise<boolean> {
    return await this.#parts.guilds.isAdmin(place, senderId);
  }

  async start(receive: Receive, shard: Shard = ONLY): Promise<void> {
    await this.#receiving.get(shard.id)?.stop();
    const receiving = new Receiving(this.#parts, receive, shard);
    this.#receiving.set(shard.id, receiving);
    await receiving.start();
  }

  async stop(shard?: Shard): Promise<void> {
    const ending = shard === undefined ? [...this.#receiving.values()] : [this.#receiving.get(shard.id)];
    await Promise.all(ending.map(async (receiving) => await receiving?.stop()));
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const content = contentOf(part);
    const followUp = part.after && (await this.#replies.followUp(part.after, content));
    return followUp ?? { id: await this.#sending.create(part, content) };
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    let refusal = new ChannelError('rejected', `Discord does not accept the file ${file.name} in any form.`);
    for (const { content, files } of await formsOf(file)) {
      try {
        const followUp = file.after && (await this.#replies.followUp(file.after, content, files));
        return followUp ?? { id: await this.#sending.create(file, content, files) };
      } catch (error) {
        refusal = fileRefusal(error);
      }
    }
    throw refusal;
  }

  async edit(message: SentMessage, part: OutboundPart): Promise<SentMessage> {
    const channelId = channelIdOf(part);
    if (isReply(message)) return await this.#replies.edit(message, channelId, contentOf(part));
    await this.#sending.edit(message.id, channelId, contentOf(part));
    return message;
  }

  async removeButtons(message: SentMessage, place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    const bare = { components: [] };
    if (isReply(message)) await this.#replies.edit(message, channelId, bare);
    else await this.#sending.edit(message.id, channelId, bare);
  }

  async delete(message: SentMessage, place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    if (isReply(message)) await unlessGone(this.#replies.delete(message, channelId));
    else await this.#sending.delete(message.id, channelId);
  }

  async typing(place: Place): Promise<void> {
    await this.#sending.typing(place);
  }

  health(): ChannelHealth {
    const receiving = worstOf([...this.#receiving.values()].map(({ health }) => health));
    return receiving.state === 'dead' ? receiving : (this.#rest.health ?? receiving);
  }
}

/** The rate limit of a channel or thread; the replies to a command have a separate one while its token lives. */
function rateOf(config: DiscordConfig, { chatId, threadId }: Place, token: string | undefined): PlaceRate {
  return {
    key: token === undefined ? (threadId ?? chatId) : `reply ${token}`,
    editIntervalMs: config.editIntervalMs,
    burst: config.burst,
    reserved: config.reservedForFinals,
    window: { calls: config.callsPer5Seconds, ms: WINDOW_MS },
    countsForBot: token === undefined,
  };
}

/** From best to worst. */
const STATES: readonly ChannelHealth['state'][] = ['up', 'starting', 'degraded', 'dead'];

/** The state of all shards that this process holds; those that other processes hold do not count. */
function worstOf(shards: readonly ChannelHealth[]): ChannelHealth {
  const [worst] = shards
    .filter(({ state }) => state !== 'off')
    .toSorted((one, other) => STATES.indexOf(other.state) - STATES.indexOf(one.state));
  return worst ?? { state: 'off' };
}
