/** Receiving from `start` to `stop`: gateway connection, inbox, commands, and messages missed while not connected. */
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { ChannelDeps, Shard } from '../../../src/protocol/channel.ts';
import type { ChannelHealth, GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { Receipt, Receive, ReceiveOptions } from '../../../src/protocol/receive.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import type { SharedClock } from '../../../src/lib/clock.ts';
import { BackgroundWork } from '../../../src/lib/async/background.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import type { BotRoles } from '../guilds/bot-roles.ts';
import type { Members } from '../guilds/members.ts';
import { catchUp } from './catch-up.ts';
import type { SingleReactions } from '../../../src/protocol/channel-parts.ts';
import { registerCommands, toDiscordCommands } from '../interactions/commands.ts';
import { GatewayLink, type GatewayParts } from '../gateway/link.ts';
import type { FileDownload } from '../files/file-download.ts';
import { History } from './history.ts';
import { type ChannelKind, readChannel, readEdit, readMessage } from './inbound.ts';
import { readDeletion } from '../earlier/deletion.ts';
import { fromStopReaction, readStopReaction } from '../earlier/stop-reaction.ts';
import type { DispatchedEvent } from '../gateway/socket.ts';
import { Inbox } from './inbox.ts';
import type { Interactions } from '../interactions/interactions.ts';
import { retryTransient } from '../rest/retry.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { channelIdOf } from '../sending.ts';
import type { QuestionThreads } from '../threads/question-threads.ts';
import { z } from 'zod';
import { Snowflake } from './quoted.ts';
import type { MutedNotice } from '../earlier/muted-notice.ts';
import { ONLY, ownsGuild } from '../gateway/shard.ts';
import { ResumeState, type Self } from '../gateway/resume-state.ts';

const Named = z.object({ id: Snowflake });

/** A server as the bot first sees it: with its unarchived threads. */
const Guild = z.object({ id: Snowflake, threads: z.array(z.unknown()).default([]) });

/** The threads of channels that the bot may now read. */
const ThreadList = z.object({ guild_id: Snowflake, threads: z.array(z.unknown()) });

/** A text that may be a command, after the bot's name. */
const COMMAND = /^\s*(<@!?\d+>[\s,:]*)?\//;
/** How long health reports what a catch-up left out, in milliseconds. */
const NOTICE_MS = 3_600_000;
/** Longest wait before the store is asked again for the chats to read, in milliseconds. */
const CATCH_UP_RETRY_MS = 30_000;
/** Longest wait for the store during `stop`, in milliseconds. */
const SAVE_MS = 2_000;

/** The channel's dependencies: a log, the commands it offers, who is allowed, and the sessions that are kept. */
export interface DiscordDeps extends Pick<ChannelDeps, 'log' | 'connections' | 'languages'> {
  gateway: Pick<
    GatewayApi,
    'commands' | 'groups' | 'messagesDeleted' | 'noteRefusal' | 'receive' | 'subscribe' | 'suggest'
  >;
}

export interface ReceivingParts extends DiscordDeps {
  receive: Receive;
  rest: DiscordRest;
  interactions: Interactions;
  mutedNotice: MutedNotice;
  files: FileDownload;
  roles: BotRoles;
  questionReactions: SingleReactions;
  threads: QuestionThreads;
  members: Members;
}

export interface ReceivingSettings extends Omit<GatewayParts, 'resume' | 'rest' | 'log' | 'shard'> {
  clock: SharedClock;
  /** Time between two writes of how far the events are stored, in milliseconds. */
  saveEveryMs: number;
  /** Minimum time between two calls that read the history, in milliseconds. */
  historySpacingMs: number;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #settings: ReceivingSettings;
  readonly #shard: Shard;
  readonly #stop = new AbortController();
  readonly #inbox: Inbox;
  readonly #history: History;
  readonly #resume: ResumeState;
  readonly #link: GatewayLink;
  /** Work other than messages: commands, registration, short replies. Awaited at `stop`. */
  readonly #background: BackgroundWork;
  #botId = '';
  #registered = false;
  #unsubscribe: (() => void) | undefined;
  /** Chats of which the last catch-up left something out, and when. */
  #leftOut = { chats: 0, at: 0 };

  constructor(settings: ReceivingSettings, parts: ReceivingParts, shard: Shard = ONLY) {
    const { rest, log, connections } = parts;
    const { signal } = this.#stop;
    this.#parts = parts;
    this.#background = new BackgroundWork((error, failure) => {
      if (!this.#stop.signal.aborted) log.warn({ err: error }, failure);
    });
    this.#settings = settings;
    this.#shard = shard;
    this.#history = new History({
      rest,
      log,
      signal,
      spacingMs: settings.historySpacingMs,
      retryMs: settings.retryBaseMs,
      leftOut: () => this.#leaveOut(1),
    });
    this.#inbox = new Inbox({
      history: this.#history,
      roles: parts.roles,
      members: parts.members,
      files: parts.files,
      log,
      signal,
      botId: () => this.#botId,
      limited: () => this.#link.limited,
      noteRefusal: parts.gateway.noteRefusal,
      threads: parts.threads,
      groups: async () => await parts.gateway.groups('discord'),
      publish: async (message, options) => await this.#publish(message, options),
      deleted: parts.gateway.messagesDeleted,
    });
    const { clock, saveEveryMs } = settings;
    this.#resume = new ResumeState({ connections, clock, log, saveEveryMs });
    this.#link = new GatewayLink(
      { ...settings, shard, resume: this.#resume, rest, log },
      {
        self: ({ botId }) => {
          this.#botId = botId;
        },
        connected: (self) => this.#register(self),
        missed: (heardAt, stored) => {
          this.#background.run('discord_catch_up_failed', this.#catchUp(heardAt, stored));
        },
        event: (event, stored) => this.#onEvent(event, stored),
      },
    );
  }

  get health(): ChannelHealth {
    if (this.#stop.signal.aborted) return { state: 'off' };
    const { health } = this.#link;
    const { chats, at } = this.#leftOut;
    if (chats === 0 || this.#settings.epochNow() - at > NOTICE_MS || health.state === 'dead') return health;
    const missed = textRef('health.missed', { count: chats, event: 'discord_catch_up' });
    const { detail: first } = health;
    const detail = first === undefined ? missed : textRef('health.both', { first, second: missed });
    return { state: health.state === 'up' ? 'degraded' : health.state, detail };
  }

  async start(): Promise<void> {
    this.#unsubscribe ??= this.#parts.gateway.subscribe({}, (event) => {
      if (event.type === 'session_titled') this.#onTitle(event);
    });
    await this.#link.start();
  }

  #onTitle(event: AgentEvent): void {
    const kindOf = async (id: string) => {
      const kind = await this.#history.kindOf(id, false);
      return ownsGuild(this.#shard, kind?.guildId) ? kind : undefined;
    };
    const name = () => this.#parts.threads.onTitle(event, this.#botId, kindOf);
    this.#background.run('discord_thread_not_named', retryTransient(name, this.#stop.signal));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe?.();
    await this.#link.stop();
    await this.#inbox.close(this.#background.running);
    const limit = new AbortController();
    await Promise.race([this.#resume.save(), pause(SAVE_MS, limit.signal)]);
    limit.abort();
    this.#resume.close();
  }

  #onEvent({ name, data, sequence }: DispatchedEvent, stored: () => void): void {
    switch (name) {
      case 'MESSAGE_CREATE': {
        const message = readMessage(data);
        if (message === undefined) stored();
        else this.#inbox.push(message, COMMAND.test(message.content) ? () => this.#acted(stored) : stored);
        return;
      }
      case 'MESSAGE_UPDATE': {
        const message = readEdit(data);
        if (message === undefined) stored();
        else this.#inbox.push(message, stored, true);
        return;
      }
      case 'MESSAGE_DELETE':
      case 'MESSAGE_DELETE_BULK': {
        const deletion = readDeletion(name, data);
        if (deletion === undefined) stored();
        else this.#inbox.delete(deletion, stored);
        return;
      }
      case 'MESSAGE_REACTION_ADD':
        this.#background.run('discord_reaction_failed', this.#stopBy(data, String(sequence)).finally(stored));
        return;
      case 'INTERACTION_CREATE': {
        const done = this.#parts.interactions
          .takeEvent(data, this.#parts.receive, this.#botId)
          .finally(() => this.#acted(stored));
        this.#background.run('discord_command_failed', done);
        return;
      }
      default:
        this.#history.tellThreads(reportedThreads(name, data));
        stored();
    }
  }

  /** Stops the answer to which someone has added such a reaction. */
  async #stopBy(event: unknown, sequence: string): Promise<void> {
    const reaction = readStopReaction(event, this.#botId);
    if (reaction === undefined) return;
    const { channel_id: channelId, guild_id: guildId } = reaction;
    const kind =
      guildId === undefined ? ({ place: 'private' } as const) : await this.#history.kindOf(channelId, true);
    if (kind !== undefined) await this.#parts.receive(fromStopReaction(reaction, sequence, kind));
  }

  #register({ applicationId }: Self): void {
    // One of them is enough.
    if (this.#registered || this.#shard.id !== 0) return;
    this.#registered = true;
    const { rest, gateway, languages } = this.#parts;
    const { signal } = this.#stop;
    this.#background.run(
      'discord_commands_not_registered',
      retryTransient(async () => {
        await registerCommands(rest, applicationId, toDiscordCommands(gateway.commands, languages), signal);
      }, signal),
    );
  }

  /**
   * Has the missed messages read, and retries until the store can say where; `stored` is called once they are stored.
   */
  async #catchUp(heardAt: number | undefined, stored: () => void): Promise<void> {
    const { signal } = this.#stop;
    const { epochNow } = this.#settings;
    const parts = {
      ...this.#parts,
      inbox: this.#inbox,
      history: this.#history,
      epochNow,
      shard: this.#shard,
      signal,
    };
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const leftOut = await catchUp(parts, heardAt);
        if (leftOut > 0) this.#leaveOut(leftOut);
        break;
      } catch (error) {
        if (!signal.aborted) this.#parts.log.warn({ err: error }, 'discord_catch_up_delayed');
        await pause(backoffMs(attempt, this.#settings.retryBaseMs, CATCH_UP_RETRY_MS), signal);
      }
    }
    if (signal.aborted) return;
    stored();
    await this.#resume.save();
  }

  #leaveOut(chats: number): void {
    const { epochNow } = this.#settings;
    const before = epochNow() - this.#leftOut.at > NOTICE_MS ? 0 : this.#leftOut.chats;
    this.#leftOut = { chats: before + chats, at: epochNow() };
  }

  /** Stores the position after a command at once: after a restart it must not act again. */
  #acted(stored: () => void): void {
    stored();
    this.#background.run('discord_session_not_saved', this.#resume.save());
  }

  async #publish(message: InboundMessage, options?: ReceiveOptions): Promise<Receipt> {
    // Before the commit: the reaction of a turn that starts at once must find it.
    if (message.isEdit !== true)
      this.#parts.questionReactions.arrived({ chatId: message.chatId, messageId: message.id });
    const receipt = await this.#parts.receive(message, options);
    if (receipt.kind === 'accepted')
      this.#parts.mutedNotice.asked(channelIdOf(message), {
        messageId: message.id,
        senderId: message.senderId,
      });
    return receipt;
  }
}

/** The kinds of the threads in an event, by id; empty for every other event. Pure; anything malformed is left out. */
export function reportedThreads(name: string, data: unknown): Map<string, ChannelKind> {
  switch (name) {
    case 'THREAD_CREATE':
    case 'THREAD_UPDATE':
      return kindsOf([data], undefined);
    case 'THREAD_LIST_SYNC': {
      const list = ThreadList.safeParse(data).data;
      return kindsOf(list?.threads ?? [], list?.guild_id);
    }
    case 'GUILD_CREATE': {
      const guild = Guild.safeParse(data).data;
      return kindsOf(guild?.threads ?? [], guild?.id);
    }
    default:
      return new Map();
  }
}

/** `guildId`: of an event whose threads do not all name their server. */
function kindsOf(threads: readonly unknown[], guildId: string | undefined): Map<string, ChannelKind> {
  return new Map(
    threads.flatMap((thread): [string, ChannelKind][] => {
      const id = Named.safeParse(thread).data?.id;
      const kind = readChannel(thread);
      if (id === undefined || kind?.parentId === undefined) return [];
      return [[id, { ...kind, guildId: kind.guildId ?? guildId }]];
    }),
  );
}
