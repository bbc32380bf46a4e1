/** Receiving from `start` to `stop`: gateway connection, inbox, commands, and messages missed while not connected. */
import type { ChannelDeps } from '../../src/contracts/channel.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { parseAddress } from '../../src/contracts/message.ts';
import type { InboundMessage } from '../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../src/contracts/receive.ts';
import { registerCommands, toSlashCommands } from './commands.ts';
import { GatewayLink } from './gateway.ts';
import type { GatewaySettings } from './gateway.ts';
import { History, idAt } from './history.ts';
import { readInteraction, readMessage, readPress } from './inbound.ts';
import { Inbox } from './inbox.ts';
import type { Interactions } from './interactions.ts';
import { retryTransient } from './retry.ts';
import type { DiscordRest } from './rest.ts';
import { contentOfText } from './sending.ts';
import type { Sending } from './sending.ts';

/** Sessions whose channels are read at the first connect, for messages written while this process was not running. */
const MAX_RECENT = 50;
/** A channel is read from this long before its session's last change: an answer may change it after the next question. */
const LOOK_BACK_MS = 5 * 60_000;
/** The caller as which the channel asks the gateway for its sessions. */
const SELF = { tokenId: 'channel:discord', scopes: ['admin' as const] };

/** The channel's dependencies: a log, the commands it offers, and the sessions the gateway knows. */
export interface DiscordDeps extends Pick<ChannelDeps, 'log'> {
  gateway: Pick<GatewayApi, 'sessions' | 'commands'>;
}

export interface ReceivingParts extends DiscordDeps {
  receive: Receive;
  rest: DiscordRest;
  sending: Sending;
  interactions: Interactions;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #stop = new AbortController();
  readonly #history: History;
  readonly #inbox: Inbox;
  readonly #link: GatewayLink;
  /** Work besides the messages: commands, registration, short replies. Awaited at `stop`. */
  readonly #background = new Set<Promise<void>>();
  #botId = '';
  #sessions = 0;

  constructor(settings: Omit<GatewaySettings, 'log'>, parts: ReceivingParts) {
    const { rest, log } = parts;
    const { signal } = this.#stop;
    this.#parts = parts;
    this.#history = new History({ rest, log, signal });
    this.#inbox = new Inbox({
      history: this.#history,
      log,
      signal,
      botId: () => this.#botId,
      publish: async (message) => await this.#publish(message),
    });
    this.#link = new GatewayLink(
      { ...settings, log },
      {
        ready: (self) => {
          this.#ready(self);
        },
        message: (event) => {
          const message = readMessage(event);
          if (message !== undefined) this.#inbox.push(message);
        },
        interaction: (event) => {
          const { interactions, receive } = this.#parts;
          const command = readInteraction(event);
          if (command !== undefined)
            this.#inBackground('discord_command_failed', interactions.onCommand(command, receive));
          const press = readPress(event);
          if (press !== undefined)
            this.#inBackground('discord_press_failed', interactions.onPress(press, receive));
        },
      },
    );
  }

  get health(): ChannelHealth {
    return this.#stop.signal.aborted ? { state: 'off' } : this.#link.health;
  }

  async start(): Promise<void> {
    await this.#link.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#link.stop();
    await this.#inbox.close([...this.#background]);
  }

  #ready({ botId, applicationId }: { botId: string; applicationId: string }): void {
    this.#botId = botId;
    this.#sessions += 1;
    const { rest, gateway } = this.#parts;
    const { signal } = this.#stop;
    this.#inBackground(
      'discord_commands_not_registered',
      retryTransient(async () => {
        await registerCommands(rest, applicationId, toSlashCommands(gateway.commands), signal);
      }, signal),
    );
    if (this.#sessions === 1) this.#inBackground('discord_catch_up_failed', this.#catchUp());
    else this.#inbox.closeGap();
  }

  /** Reads the channels of the gateway's sessions for messages written before this process started. */
  async #catchUp(): Promise<void> {
    const sessions = await this.#parts.gateway.sessions(SELF, { limit: MAX_RECENT });
    for (const { key, updatedAt } of sessions) {
      const { channel, chatId, threadId } = parseAddress(key);
      if (channel !== 'discord') continue;
      const id = threadId ?? chatId;
      const kind = await this.#history.kindOf(id);
      if (kind !== undefined) this.#inbox.readFrom(id, kind, idAt(updatedAt.getTime() - LOOK_BACK_MS));
    }
  }

  async #publish(message: InboundMessage): Promise<Receipt> {
    const receipt = await this.#parts.receive(message);
    const reply = receipt.kind === 'handled' || receipt.kind === 'refused' ? receipt.reply : undefined;
    if (reply !== undefined) this.#inBackground('discord_reply_failed', this.#reply(message, reply));
    return receipt;
  }

  /** Sends a short reply of the gateway under the message it answers. */
  async #reply(message: InboundMessage, text: string): Promise<void> {
    const { sending } = this.#parts;
    const nonce = `reply ${message.id}`;
    await retryTransient(
      async () => await sending.create(message, contentOfText(text), nonce, message.id),
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
