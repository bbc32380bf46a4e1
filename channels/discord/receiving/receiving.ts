/** Receiving from `start` to `stop`: gateway connection, inbox, commands, and messages missed while not connected. */
import type { ChannelDeps, Shard } from '../../../src/protocol/channel.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { SingleReactions } from '../../../src/protocol/channel-parts.ts';
import type { Receipt, Receive, ReceiveOptions } from '../../../src/protocol/receive.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { BackgroundWork } from '../../../src/lib/async/background.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { pause, waitAtMost } from '../../../src/lib/async/sleep.ts';
import type { SharedClock } from '../../../src/lib/clock.ts';
import type { DiscordTiming } from '../config.ts';
import type { FileDownload } from '../file-download.ts';
import { GatewayLink } from '../gateway/link.ts';
import type { IdentifyBudget } from '../gateway/identify-budget.ts';
import { ResumeState, type Self } from '../gateway/resume-state.ts';
import { ownsGuild } from '../gateway/shard.ts';
import type { DispatchedEvent } from '../gateway/socket.ts';
import type { Guilds } from '../guilds.ts';
import { registerCommands, toDiscordCommands } from '../interactions/commands.ts';
import type { Interactions } from '../interactions/interactions.ts';
import type { QuestionThreads } from '../question-threads.ts';
import type { MutedNotice } from '../reactions.ts';
import { type DiscordRest, retryTransient } from '../rest.ts';
import { channelIdOf } from '../sending.ts';
import { ChannelKinds } from './channel-kinds.ts';
import { fromStopReaction, readDeletion, readStopReaction, reportedThreads } from './events.ts';
import { catchUp, History } from './history.ts';
import { readEdit, readMessage } from './inbound.ts';
import { Inbox } from './inbox.ts';

/** A text that may be a command, after the bot's name. */
const COMMAND = /^\s*(<@!?\d+>[\s,:]*)?\//;
/** How long health reports what a catch-up left out, in milliseconds. */
const NOTICE_MS = 3_600_000;
/** Longest wait before the store is asked again for the chats to read, in milliseconds. */
const CATCH_UP_RETRY_MS = 30_000;
/** Longest wait for the store during `stop`, in milliseconds. */
const SAVE_MS = 2_000;

/** What all connections of the channel share. */
export interface ReceivingParts {
  deps: ChannelDeps;
  token: string;
  /** Its `epochNow` is that of `clock`. */
  timing: DiscordTiming;
  clock: SharedClock;
  budget: IdentifyBudget;
  /** Asks Discord, once, which bot the token belongs to. Throws `ChannelError`. */
  botId: (signal: AbortSignal) => Promise<string>;
  rest: DiscordRest;
  interactions: Interactions;
  mutedNotice: MutedNotice;
  files: FileDownload;
  guilds: Guilds;
  questionReactions: SingleReactions;
  threads: QuestionThreads;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #receive: Receive;
  readonly #shard: Shard;
  readonly #stop = new AbortController();
  readonly #inbox: Inbox;
  readonly #history: History;
  readonly #kinds: ChannelKinds;
  readonly #resume: ResumeState;
  readonly #link: GatewayLink;
  /** Work other than messages: commands, registration, short replies. Awaited at `stop`. */
  readonly #background: BackgroundWork;
  #botId = '';
  #registered = false;
  #unsubscribe: (() => void) | undefined;
  /** Chats of which the last catch-up left something out, and when. */
  #leftOut = { chats: 0, at: 0 };

  constructor(parts: ReceivingParts, receive: Receive, shard: Shard) {
    const { deps, timing, rest } = parts;
    const { log, gateway } = deps;
    const { signal } = this.#stop;
    this.#parts = parts;
    this.#receive = receive;
    this.#shard = shard;
    this.#background = new BackgroundWork((error, failure) => {
      if (!signal.aborted) log.warn({ err: error }, failure);
    });
    const { historySpacingMs: spacingMs, retryBaseMs: retryMs } = timing;
    const readers = { rest, log, signal, spacingMs, retryMs, onLeftOut: () => this.#leaveOut(1) };
    this.#history = new History(readers);
    this.#kinds = new ChannelKinds(readers);
    this.#inbox = new Inbox({
      ...parts,
      log,
      signal,
      history: this.#history,
      kinds: this.#kinds,
      botId: () => this.#botId,
      limited: () => this.#link.limited,
      noteRefusal: gateway.noteRefusal,
      groups: async () => await gateway.groups('discord'),
      publish: async (message, options) => await this.#publish(message, options),
      deleted: gateway.messagesDeleted,
    });
    this.#resume = new ResumeState(deps.connections, parts.clock, log, timing.saveEveryMs);
    this.#link = new GatewayLink(
      { ...parts, log, shard, resume: this.#resume },
      {
        self: ({ botId }) => {
          this.#botId = botId;
        },
        connected: (self) => this.#register(self),
        missed: (heardAt, release) => {
          this.#background.run('discord_catch_up_failed', this.#catchUp(heardAt, release));
        },
        event: (event, release) => this.#onEvent(event, release),
      },
    );
  }

  get health(): ChannelHealth {
    if (this.#stop.signal.aborted) return { state: 'off' };
    const { health } = this.#link;
    const { chats, at } = this.#leftOut;
    if (chats === 0 || this.#parts.timing.epochNow() - at > NOTICE_MS || health.state === 'dead')
      return health;
    const notice = textRef('health.missed', { count: chats, event: 'discord_catch_up' });
    const { detail: first } = health;
    const detail = first === undefined ? notice : textRef('health.both', { first, second: notice });
    return { state: health.state === 'up' ? 'degraded' : health.state, detail };
  }

  async start(): Promise<void> {
    this.#unsubscribe ??= this.#parts.deps.gateway.subscribe({}, (event) => {
      if (event.type === 'session_titled') this.#onTitle(event);
    });
    await this.#link.start();
  }

  #onTitle(event: AgentEvent): void {
    const kindOf = async (id: string) => {
      const kind = await this.#kinds.of(id, false);
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
    await waitAtMost(SAVE_MS, this.#resume.save());
    this.#resume.close();
  }

  #onEvent({ name, data, sequence }: DispatchedEvent, release: () => void): void {
    switch (name) {
      case 'MESSAGE_CREATE': {
        const message = readMessage(data);
        if (message === undefined) release();
        else this.#inbox.push(message, COMMAND.test(message.content) ? () => this.#acted(release) : release);
        return;
      }
      case 'MESSAGE_UPDATE': {
        const message = readEdit(data);
        if (message === undefined) release();
        else this.#inbox.push(message, release, true);
        return;
      }
      case 'MESSAGE_DELETE':
      case 'MESSAGE_DELETE_BULK': {
        const deletion = readDeletion(name, data);
        if (deletion === undefined) release();
        else this.#inbox.delete(deletion, release);
        return;
      }
      case 'MESSAGE_REACTION_ADD':
        this.#background.run(
          'discord_reaction_failed',
          this.#stopBy(data, String(sequence)).finally(release),
        );
        return;
      case 'INTERACTION_CREATE': {
        const work = this.#parts.interactions.takeEvent(data, this.#receive, this.#botId);
        const acted = work.finally(() => this.#acted(release));
        this.#background.run('discord_command_failed', acted);
        return;
      }
      default:
        for (const [id, kind] of reportedThreads(name, data)) this.#kinds.tell(id, kind);
        release();
    }
  }

  /** Stops the answer to which someone has added such a reaction. */
  async #stopBy(event: unknown, sequence: string): Promise<void> {
    const reaction = readStopReaction(event, this.#botId);
    if (reaction === undefined) return;
    const { channel_id: channelId, guild_id: guildId } = reaction;
    const kind =
      guildId === undefined ? ({ place: 'private' } as const) : await this.#kinds.of(channelId, true);
    if (kind !== undefined) await this.#receive(fromStopReaction(reaction, sequence, kind));
  }

  #register({ applicationId }: Self): void {
    // One of them is enough.
    if (this.#registered || this.#shard.id !== 0) return;
    this.#registered = true;
    const { rest, deps } = this.#parts;
    const { signal } = this.#stop;
    const commands = toDiscordCommands(deps.gateway.commands, deps.languages);
    const register = () => registerCommands(rest, applicationId, commands, signal);
    this.#background.run('discord_commands_not_registered', retryTransient(register, signal));
  }

  /** Has the missed messages read, and retries until the store can say where; `release` is called once they are stored. */
  async #catchUp(heardAt: number | undefined, release: () => void): Promise<void> {
    const { signal } = this.#stop;
    const { deps, timing } = this.#parts;
    const parts = {
      ...deps,
      groups: async () => await deps.gateway.groups('discord'),
      heard: () => this.#inbox.heard,
      read: async (id: string, afterId: string) => await this.#inbox.read(id, afterId),
      history: this.#history,
      kinds: this.#kinds,
      epochNow: timing.epochNow,
      shard: this.#shard,
      signal,
    };
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const leftOut = await catchUp(parts, heardAt);
        if (leftOut > 0) this.#leaveOut(leftOut);
        break;
      } catch (error) {
        if (!signal.aborted) deps.log.warn({ err: error }, 'discord_catch_up_delayed');
        await pause(backoffMs(attempt, timing.retryBaseMs, CATCH_UP_RETRY_MS), signal);
      }
    }
    if (signal.aborted) return;
    release();
    await this.#resume.save();
  }

  #leaveOut(chats: number): void {
    const at = this.#parts.timing.epochNow();
    const previous = at - this.#leftOut.at > NOTICE_MS ? 0 : this.#leftOut.chats;
    this.#leftOut = { chats: previous + chats, at };
  }

  /** Stores the position after a command at once: after a restart it must not act again. */
  #acted(release: () => void): void {
    release();
    this.#background.run('discord_session_not_saved', this.#resume.save());
  }

  async #publish(message: InboundMessage, options?: ReceiveOptions): Promise<Receipt> {
    // Before the commit: the reaction of a turn that starts at once must find it.
    if (message.isEdit !== true)
      this.#parts.questionReactions.arrived({ chatId: message.chatId, messageId: message.id });
    const receipt = await this.#receive(message, options);
    if (receipt.kind === 'accepted')
      this.#parts.mutedNotice.remember(channelIdOf(message), {
        messageId: message.id,
        senderId: message.senderId,
      });
    return receipt;
  }
}
