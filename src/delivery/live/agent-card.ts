/** The card of a background subagent: sent once, edited while it works, and left as the head of its report. */
import type { Channel } from '../../protocol/channel.ts';
import {
  type AgentCard,
  agentCardRef,
  agentStopButton,
  type AgentEnd,
  type FollowedAgent,
} from '../../protocol/delivery.ts';
import { ChannelError, toGatewayError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { chatOf, parseAddress, type Button, type SentMessage } from '../../protocol/message.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { parseMarkdown } from '../../lib/markdown/markdown.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import type { DeliveryContext } from '../context.ts';
import { nonceOf } from '../final/part-notes.ts';
import type { LiveEdit } from '../rate/scheduler.ts';

/** Longest task, name, and last line in a card, in UTF-16 units. */
const MAX_TASK = 200;
const MAX_NAME = 60;
const MAX_LINE = 120;
/** The end of the growing text in which its last whole line is looked for, in UTF-16 units. */
const MAX_TAIL = 1_000;
/** After this many failed edits in a row the card stays as it is until the subagent ends. */
const MAX_FAILURES = 3;
/**
 * Cards of one chat that are shown at once, of which each is a message. As many as a group's burst, so that an answer waits for
 * one interval at most.
 */
export const MAX_CARDS = 5;

/** The channel of a card; undefined where nothing can be edited: there the report alone is shown. */
function channelOf({ channels }: DeliveryContext, { address }: AgentCard): Channel | undefined {
  const channel = channels.get(parseAddress(address).channel);
  return channel?.edit === undefined ? undefined : channel;
}

/** The cards that this node shows, bounded so that the answers of a chat do not wait for them. */
export class AgentCards {
  readonly #context: DeliveryContext;
  /** Subagents with a card, by the chat: the platform counts the messages of a chat, whatever topic they are in. */
  readonly #open = new Map<string, Set<string>>();

  constructor(context: DeliveryContext) {
    this.#context = context;
  }

  /** Sends the card, once however often it is called; none where `MAX_CARDS` are shown. Throws `StoreError`. */
  async announce(card: AgentCard): Promise<void> {
    if (channelOf(this.#context, card) === undefined) return;
    const { agentId, address } = card;
    const open = this.#open.get(chatOf(address)) ?? new Set();
    if (open.size >= MAX_CARDS && !open.has(agentId)) {
      this.#context.log.info({ agentId, address, most: MAX_CARDS }, 'agent_card_left_out');
      return;
    }
    this.#open.set(chatOf(address), open.add(agentId));
    const say = sayOf(this.#context, card);
    const stop = [agentStopButton(agentId, say)];
    await enqueue(this.#context, card, '', headOf(card, 'working', say), stop);
  }

  /** Edits the card while its subagent works on this node; another card may take its place after that. */
  follow(session: `${string}:${string}`, card: AgentCard): FollowedAgent {
    const live = new LiveAgentCard(this.#context, session, card);
    return {
      release: async () => {
        const open = this.#open.get(chatOf(card.address));
        open?.delete(card.agentId);
        if (open?.size === 0) this.#open.delete(chatOf(card.address));
        await live.release();
      },
    };
  }

  /** Shows how it ended, without the button; `key` tells this end from that of another attempt. Throws `StoreError`. */
  async end(card: AgentCard, end: AgentEnd, key: string): Promise<void> {
    if (channelOf(this.#context, card) === undefined) return;
    // Its lane may send the card later, and another node may have announced it.
    if (!(await this.#context.ledger.wasQueued(card.address, agentCardRef(card.agentId)))) return;
    await enqueue(this.#context, card, `:${key}`, headOf(card, end, sayOf(this.#context, card)), []);
  }
}

async function enqueue(
  { ledger, bus }: DeliveryContext,
  { agentId, address, language }: AgentCard,
  key: string,
  content: string,
  buttons: Button[],
): Promise<void> {
  const ref = agentCardRef(agentId);
  const message = { ...parseAddress(address), content, media: [], buttons, language };
  bus.runHeads(await ledger.enqueue(address, { ref, key: `${ref}${key}`, message }, bus.claimingNode('out')));
}

function sayOf({ say }: DeliveryContext, { address, language }: AgentCard): Say {
  return say({ ...parseAddress(address), language });
}

function headOf({ profileId, task }: AgentCard, state: 'working' | AgentEnd, say: Say): string {
  const name = escapeMarkdown(clipEnd(oneLine(profileId), MAX_NAME));
  return say(`agent.${state}`, { name, task: escapeMarkdown(clipEnd(oneLine(task), MAX_TASK)) });
}

/** The edits of a card on this node. Never throws. */
class LiveAgentCard implements LiveEdit, FollowedAgent {
  readonly #context: DeliveryContext;
  readonly #card: AgentCard;
  readonly #channel: Channel | undefined;
  readonly #say: Say;
  readonly #unsubscribe: () => void;
  readonly #tools = new Map<string, string>();
  #steps = 0;
  #tail = '';
  #line = '';
  #shown = '';
  #shownAt: number | undefined;
  #failures = 0;
  #frozen = false;
  #inFlight: Promise<unknown> = Promise.resolve();

  constructor(context: DeliveryContext, session: `${string}:${string}`, card: AgentCard) {
    this.#context = context;
    this.#card = card;
    this.#channel = channelOf(context, card);
    this.#say = sayOf(context, card);
    this.#unsubscribe = context.events.subscribe({ sessionKey: session }, (event) => {
      if (event.agentId === card.agentId && this.#apply(event)) this.#requestEdit();
    });
  }

  get shownAt(): number | undefined {
    return this.#shownAt;
  }

  async show(): ReturnType<LiveEdit['show']> {
    const call = this.#edit();
    this.#inFlight = call.catch(() => undefined);
    return await call;
  }

  async release(): Promise<void> {
    this.#frozen = true;
    this.#unsubscribe();
    if (this.#channel !== undefined) this.#context.schedulerOf(this.#channel).cancelEdit(this);
    await this.#inFlight;
  }

  /** True if the card looks different now. A growing text counts by the line: words would use up the chat's pace. */
  #apply(event: AgentEvent): boolean {
    switch (event.type) {
      case 'tool_call':
        this.#tools.set(event.toolCallId, event.name);
        return true;
      case 'tool_result':
        return this.#tools.delete(event.toolCallId);
      case 'stream_start':
        this.#steps += 1;
        this.#tail = '';
        return true;
      case 'stream_chunk':
        this.#tail = (this.#tail + event.delta).slice(-MAX_TAIL);
        return (
          event.delta.includes('\n') && this.#takeLine(this.#tail.slice(0, this.#tail.lastIndexOf('\n')))
        );
      case 'stream_end':
        return this.#takeLine(event.content.slice(-MAX_TAIL));
      default:
        return false;
    }
  }

  #takeLine(text: string): boolean {
    const line = clipEnd(oneLine(text.trim().split('\n').at(-1) ?? ''), MAX_LINE);
    if (line === '' || line === this.#line) return false;
    this.#line = line;
    return true;
  }

  #requestEdit(): void {
    if (this.#channel === undefined || this.#frozen) return;
    this.#context.schedulerOf(this.#channel).requestEdit({ place: parseAddress(this.#card.address) }, this);
  }

  #content(): string {
    const tool = [...this.#tools.values()].at(-1);
    const work = [
      ...(this.#steps === 0 ? [] : [this.#say('agent.step', { number: this.#steps })]),
      ...(tool === undefined ? [] : [`⚙ ${escapeMarkdown(clipEnd(oneLine(tool), MAX_NAME))} …`]),
    ];
    const lines = [work.join(' · '), escapeMarkdown(this.#line)].filter((line) => line !== '');
    return [headOf(this.#card, 'working', this.#say), ...lines].join('  \n');
  }

  async #edit(): ReturnType<LiveEdit['show']> {
    const content = this.#content();
    if (this.#frozen || content === this.#shown) return 'nothing';
    try {
      const ref = agentCardRef(this.#card.agentId);
      const [message]: (SentMessage | undefined)[] = await this.#context.sentParts(ref);
      // Only its lane sends the card, so that there is one: until then there is nothing to edit.
      if (message === undefined || this.#channel === undefined || this.#frozen) return 'nothing';
      const body = this.#channel.render(parseMarkdown(content));
      const buttons = [agentStopButton(this.#card.agentId, this.#say)];
      const place = parseAddress(this.#card.address);
      await this.#channel.edit?.(message, { ...place, body, buttons, nonce: nonceOf(ref, 0) });
      this.#shown = content;
      this.#shownAt = this.#context.clock.monotonicMs();
      this.#failures = 0;
    } catch (failure) {
      this.#handleFailure(failure);
    }
    return !this.#frozen && this.#content() !== content ? 'more' : 'shown';
  }

  /** Only "too fast" is left to the scheduler. */
  #handleFailure(failure: unknown): void {
    const error = toGatewayError(failure);
    if (error instanceof ChannelError && error.code === 'rate_limited') throw error;
    this.#failures += 1;
    this.#frozen = this.#failures >= MAX_FAILURES;
    this.#context.log.warn({ err: error, agentId: this.#card.agentId }, 'agent_card_failed');
  }
}
