/** Receiving from `start` to `stop`: gateway connection, inbox, commands, and messages missed while not connected. */
import type { ChannelDeps } from '../../src/contracts/channel.ts';
import type { ChannelHealth, GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { InboundMessage } from '../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../src/contracts/receive.ts';
import { backoffMs } from '../../src/lib/backoff.ts';
import { pause } from '../../src/lib/sleep.ts';
import { catchUp } from './catch-up.ts';
import { registerCommands, toSlashCommands } from './commands.ts';
import { GatewayLink } from './gateway/link.ts';
import type { GatewayParts } from './gateway/link.ts';
import type { FileDownload } from './file-download.ts';
import { History } from './history.ts';
import { readInteraction, readMessage, readPress } from './inbound.ts';
import { Inbox } from './inbox.ts';
import type { Interactions } from './interactions.ts';
import { retryTransient } from './retry.ts';
import type { DiscordRest } from './rest.ts';
import { channelIdOf, contentOfText } from './sending.ts';
import type { Sending } from './sending.ts';
import type { Signs } from './signs.ts';
import { ResumeState } from './gateway/resume-state.ts';
import type { Self } from './gateway/resume-state.ts';

/** A text that may be a command, after the bot's name. */
const COMMAND = /^\s*(<@!?\d+>[\s,:]*)?\//;
/** How long the health names what a catch-up left out, in milliseconds. */
const NOTICE_MS = 3_600_000;
/** Longest wait before the store is asked again for the chats to read, in milliseconds. */
const CATCH_UP_RETRY_MS = 30_000;
/** Longest wait for the store at a stop, in milliseconds. */
const SAVE_MS = 2_000;

/** The channel's dependencies: a log, the commands it offers, who is allowed, and the sessions that are kept. */
export interface DiscordDeps extends Pick<ChannelDeps, 'log' | 'connections'> {
  gateway: Pick<GatewayApi, 'commands' | 'groups' | 'noteRefusal'>;
}

export interface ReceivingParts extends DiscordDeps {
  receive: Receive;
  rest: DiscordRest;
  sending: Sending;
  interactions: Interactions;
  signs: Signs;
  files: FileDownload;
}

export interface ReceivingSettings extends Omit<GatewayParts, 'resume' | 'rest' | 'log'> {
  /** Time between two writes of how far the events are stored, in milliseconds. */
  saveEveryMs: number;
  /** Least time between two calls that read the history, in milliseconds. */
  historySpacingMs: number;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #settings: ReceivingSettings;
  readonly #stop = new AbortController();
  readonly #inbox: Inbox;
  readonly #resume: ResumeState;
  readonly #link: GatewayLink;
  /** Work besides the messages: commands, registration, short replies. Awaited at `stop`. */
  readonly #background = new Set<Promise<void>>();
  #botId = '';
  #registered = false;
  /** Chats of which the last catch-up left something out, and when. */
  #leftOut = { chats: 0, at: 0 };

  constructor(settings: ReceivingSettings, parts: ReceivingParts) {
    const { rest, log, connections } = parts;
    const { signal } = this.#stop;
    this.#parts = parts;
    this.#settings = settings;
    const history = new History({
      rest,
      log,
      signal,
      spacingMs: settings.historySpacingMs,
      retryMs: settings.retryBaseMs,
      leftOut: () => this.#leaveOut(1),
    });
    this.#inbox = new Inbox({
      history,
      files: parts.files,
      log,
      signal,
      botId: () => this.#botId,
      limited: () => this.#link.limited,
      noteRefusal: parts.gateway.noteRefusal,
      publish: async (message) => await this.#publish(message),
    });
    this.#resume = new ResumeState({ connections, log, saveEveryMs: settings.saveEveryMs });
    this.#link = new GatewayLink(
      { ...settings, resume: this.#resume, rest, log },
      {
        self: ({ botId }) => {
          this.#botId = botId;
        },
        connected: (self) => this.#register(self),
        missed: (heardAt, stored) => {
          this.#inBackground('discord_catch_up_failed', this.#catchUp(heardAt, stored));
        },
        message: (event, stored) => {
          const message = readMessage(event);
          if (message === undefined) stored();
          else this.#inbox.push(message, COMMAND.test(message.content) ? () => this.#acted(stored) : stored);
        },
        interaction: (event, stored) => {
          const done = this.#interact(event).finally(() => this.#acted(stored));
          this.#inBackground('discord_command_failed', done);
        },
      },
    );
  }

  get health(): ChannelHealth {
    if (this.#stop.signal.aborted) return { state: 'off' };
    const { health } = this.#link;
    const { chats, at } = this.#leftOut;
    if (chats === 0 || this.#settings.now() - at > NOTICE_MS || health.state === 'dead') return health;
    const text = `Messages missed in ${chats} chats could not all be read: see discord_catch_up in the log.`;
    const detail = health.detail === undefined ? text : `${health.detail} ${text}`;
    return { state: health.state === 'up' ? 'degraded' : health.state, detail };
  }

  async start(): Promise<void> {
    await this.#link.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#link.stop();
    await this.#inbox.close([...this.#background]);
    const limit = new AbortController();
    await Promise.race([this.#resume.save(), pause(SAVE_MS, limit.signal)]);
    limit.abort();
    this.#resume.close();
  }

  #register({ applicationId }: Self): void {
    if (this.#registered) return;
    this.#registered = true;
    const { rest, gateway } = this.#parts;
    const { signal } = this.#stop;
    this.#inBackground(
      'discord_commands_not_registered',
      retryTransient(async () => {
        await registerCommands(rest, applicationId, toSlashCommands(gateway.commands), signal);
      }, signal),
    );
  }

  /** Has the missed messages read, again until the store can say where; `stored` is called once they are stored. */
  async #catchUp(heardAt: number | undefined, stored: () => void): Promise<void> {
    const { signal } = this.#stop;
    const parts = { ...this.#parts, inbox: this.#inbox, now: this.#settings.now, signal };
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
    const { now } = this.#settings;
    const before = now() - this.#leftOut.at > NOTICE_MS ? 0 : this.#leftOut.chats;
    this.#leftOut = { chats: before + chats, at: now() };
  }

  /** Acts on a command or a pressed button. */
  async #interact(event: unknown): Promise<void> {
    const { interactions, receive } = this.#parts;
    const command = readInteraction(event);
    const press = readPress(event);
    if (command !== undefined) await interactions.onCommand(command, receive);
    if (press !== undefined) await interactions.onPress(press, receive);
  }

  /** Keeps the place behind a command at once: after a restart it must not act again. */
  #acted(stored: () => void): void {
    stored();
    this.#inBackground('discord_session_not_saved', this.#resume.save());
  }

  async #publish(message: InboundMessage): Promise<Receipt> {
    const receipt = await this.#parts.receive(message);
    if (receipt.kind === 'accepted')
      this.#parts.signs.asked(channelIdOf(message), { messageId: message.id, senderId: message.senderId });
    const reply = receipt.kind === 'handled' || receipt.kind === 'refused' ? receipt.reply : undefined;
    if (reply !== undefined) this.#inBackground('discord_reply_failed', this.#reply(message, reply));
    return receipt;
  }

  /** Sends a short reply of the gateway under the message it answers. */
  async #reply(message: InboundMessage, text: string): Promise<void> {
    const { sending } = this.#parts;
    const nonce = `reply ${message.id}`;
    await retryTransient(
      async () => await sending.create(message, contentOfText(text), { nonce, replyTo: message.id }),
      this.#stop.signal,
    );
  }

  /** Lets work run on its own; its failure is logged as `failure`. */
  #inBackground(failure: string, work: Promise<void>): void {
    const task = work
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#parts.log.warn({ err: error }, failure);
      })
      .finally(() => {
        this.#background.delete(task);
      });
    this.#background.add(task);
  }
}
