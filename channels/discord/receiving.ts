/** One life of receiving, from `start` to `stop`: gateway, inbox, commands, and what was missed while nobody listened. */
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

/** Conversations looked through at the first connect for what was said while this process was away. */
const MAX_RECENT = 50;
/** How far before a session's last change its channel is read again: an answer changes it later than the next question. */
const LOOK_BACK_MS = 5 * 60_000;
/** The channel itself asks the gateway for its own sessions. */
const SELF = { tokenId: 'channel:discord', scopes: ['admin' as const] };

/** What the channel asks of the gateway: a log, the commands it offers, and which conversations it knows. */
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
  /** Work beside the messages: commands, registration, short answers. Awaited at `stop`. */
  readonly #chores = new Set<Promise<void>>();
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
      hand: async (message) => await this.#hand(message),
    });
    this.#link = new GatewayLink(
      { ...settings, log },
      {
        ready: (self) => {
          this.#ready(self);
        },
        message: (event) => {
          const message = readMessage(event);
          if (message !== undefined) this.#inbox.take(message);
        },
        interaction: (event) => {
          const { interactions, receive } = this.#parts;
          const command = readInteraction(event);
          if (command !== undefined)
            this.#chore('a Discord command failed', interactions.take(command, receive));
          const press = readPress(event);
          if (press !== undefined)
            this.#chore('a Discord button failed', interactions.takePress(press, receive));
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
    await this.#inbox.close([...this.#chores]);
  }

  #ready({ botId, applicationId }: { botId: string; applicationId: string }): void {
    this.#botId = botId;
    this.#sessions += 1;
    const { rest, gateway } = this.#parts;
    const { signal } = this.#stop;
    this.#chore(
      'the Discord commands could not be registered',
      retryTransient(async () => {
        await registerCommands(rest, applicationId, toSlashCommands(gateway.commands), signal);
      }, signal),
    );
    if (this.#sessions === 1) this.#chore('recent Discord chats could not be read', this.#catchUp());
    else this.#inbox.closeGap();
  }

  /** Reads on in the conversations the gateway knows: nobody listened before this process did. */
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

  async #hand(message: InboundMessage): Promise<Receipt> {
    const receipt = await this.#parts.receive(message);
    const reply = receipt.kind === 'handled' || receipt.kind === 'refused' ? receipt.reply : undefined;
    if (reply !== undefined)
      this.#chore('a short answer was not shown on Discord', this.#reply(message, reply));
    return receipt;
  }

  /** Shows a short answer of the gateway under the message it is for. */
  async #reply(message: InboundMessage, text: string): Promise<void> {
    const { sending } = this.#parts;
    const nonce = `reply ${message.id}`;
    await retryTransient(
      async () => await sending.create(message, contentOfText(text), nonce, message.id),
      this.#stop.signal,
    );
  }

  #chore(failure: string, work: Promise<void>): void {
    const chore = work
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#parts.log.warn({ err: error }, failure);
      })
      .finally(() => {
        this.#chores.delete(chore);
      });
    this.#chores.add(chore);
  }
}
