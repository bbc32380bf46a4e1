/** A simulator of traffic in virtual time: chats that stream at once through the real delivery, against limits it does not know. */
import { create } from '../../../channels/telegram/index.ts';
import { manifest } from '../../../channels/telegram/manifest.ts';
import type { DraftRules, RateLimits } from '../../../src/protocol/delivery.ts';
import type { Capabilities } from '../../../src/protocol/channel.ts';
import { nonceOf } from '../../../src/delivery/final/part-notes.ts';
import { silentLog } from '../../database.ts';
import type { FakeChannel } from '../../fakes/gateway/channel.ts';
import type { HiddenLimits } from '../../fakes/gateway/hidden-limits.ts';
import { memoryStores, NOBODY } from '../../fakes/stores/channel-stores.ts';
import { FakeGateway } from '../../fakes/gateway/gateway-api.ts';
import { buildDelivery, HEAD, quiet } from '../setup.ts';

/** How long the platform takes to answer a call. */
const LATENCY_MS = 80;

/** Longest run of a simulation, in virtual time. */
const LONGEST_MS = 3_600_000;

/** Telegram's rates, as its channel declares them by default. */
function telegramRates(): RateLimits {
  return telegramCapabilities().rates;
}

/** Telegram's drafts, with the same defaults. */
export function telegramDrafts(): DraftRules | undefined {
  return telegramCapabilities().draft;
}

function telegramCapabilities(): Capabilities {
  const config = { token: '1:x', ...manifest.settings.parse({}) };
  const deps = {
    log: silentLog,
    gateway: new FakeGateway(),
    ...NOBODY,
    ...memoryStores(),
  };
  return create(config, deps).capabilities;
}

export interface Traffic {
  chats: number;
  /** The chats begin evenly within this time. */
  withinMs: number;
  /** Turns of each chat, one after the other. */
  turns?: number;
  firstTokenMs: number;
  tokens: number;
  tokenMs: number;
  /** Id of the nth chat; a private one by default. */
  chatId?: (nth: number) => string;
  limits?: HiddenLimits;
  rates?: RateLimits;
  /** Answers appear as drafts. */
  drafts?: DraftRules;
}

type Call = FakeChannel['calls'][number];

/** What users saw, in milliseconds, and what it took. */
export interface Flow {
  /** From the message to the first text of its answer on screen. */
  first: number[];
  /** From the model's end to the whole answer on screen. */
  final: number[];
  /** How long ago each growing screen last changed, each second. */
  age: number[];
  /** Calls to the platform, those it refused, and those that came within the pause of a refusal. */
  calls: number;
  refused: number;
  early: number;
  /** Calls that showed what was already on screen. */
  sameText: number;
  /** Answers that are not on screen as they should be. */
  wrong: number;
  /** Every call that was answered, in order. */
  log: readonly Call[];
}

/** A turn of the simulation. */
interface Turn {
  id: string;
  chatId: string;
  askedAt: number;
  endedAt: number;
  text: string;
}

/** Runs the traffic until every answer is delivered. Throws if that takes longer than an hour of virtual time. */
export async function simulate(traffic: Traffic): Promise<Flow> {
  const { chats, withinMs, chatId = (nth) => String(1_000 + nth) } = traffic;
  const gateway = buildDelivery({
    latencyMs: LATENCY_MS,
    maxLength: 4_096,
    rates: traffic.rates ?? telegramRates(),
    ...(traffic.limits && { limits: traffic.limits }),
    ...(traffic.drafts && { drafts: traffic.drafts }),
  });
  const turns: Turn[] = [];
  const open = new Set(Array.from({ length: chats }, (_, nth) => nth));
  const running = Array.from({ length: chats }, async (_, nth) => {
    await gateway.clock.sleep((nth * withinMs) / chats);
    for (let turn = 0; turn < (traffic.turns ?? 1); turn++)
      turns.push(await stream(gateway, traffic, `${nth}-${turn}`, chatId(nth)));
    open.delete(nth);
  });
  while (open.size > 0 && gateway.clock.monotonicMs() < LONGEST_MS) await gateway.clock.advance(1_000);
  if (open.size > 0) throw new Error(`${open.size} chats still wait for their answers`);
  await Promise.all(running);
  const [counts = { calls: 0, refused: 0 }] = gateway.delivery.counts().platforms.values();
  gateway.delivery.close();
  const log = gateway.channel.calls.filter(({ kind }) => kind !== 'typing');
  return {
    ...seen(turns, log),
    calls: counts.calls,
    refused: counts.refused,
    early: gateway.channel.early,
    sameText: sameTexts(log),
    wrong: turns.filter(({ chatId: id, text }) => !gateway.channel.screen(id).includes(text.trim())).length,
    log,
  };
}

/** One turn: tokens, then the delivery of its answer. */
async function stream(
  gateway: ReturnType<typeof buildDelivery>,
  { firstTokenMs, tokens, tokenMs }: Traffic,
  id: string,
  chatId: string,
): Promise<Turn> {
  const { clock, delivery } = gateway;
  const askedAt = clock.monotonicMs();
  const turn = gateway.open(id, chatId);
  await clock.sleep(firstTokenMs);
  let text = '';
  for (let token = 0; token < tokens; token++) {
    text += `word${token} `;
    gateway.say(id, `word${token} `);
    await clock.sleep(tokenMs);
  }
  const endedAt = clock.monotonicMs();
  await turn.settle();
  const message = { channel: 'fake', chatId, content: text, turnId: id, media: [], buttons: [] };
  const head = { ...HEAD, lane: `out:fake:${chatId}` as const, dedupe: id, payload: { ref: id, message } };
  for (;;) {
    const outcome = await delivery.out.handle(head, quiet);
    if (outcome.kind === 'finished') return { id, chatId, askedAt, endedAt, text };
    await clock.sleep('delayMs' in outcome ? (outcome.delayMs ?? 0) : 0);
  }
}

/** The times that users notice, read from the calls of each turn's message. */
function seen(turns: readonly Turn[], log: readonly Call[]): Pick<Flow, 'first' | 'final' | 'age'> {
  const calls = new Map<string, number[]>();
  for (const { part, at } of log) {
    const nonce = part?.nonce ?? '';
    // A draft that shows only that the bot is thinking.
    if (part?.body.text === '') continue;
    calls.set(nonce, [...(calls.get(nonce) ?? []), at + LATENCY_MS]);
  }
  const flow = { first: [] as number[], final: [] as number[], age: [] as number[] };
  for (const { id, askedAt, endedAt } of turns) {
    const changes = calls.get(nonceOf(id, 0)) ?? [];
    const [first = Number.POSITIVE_INFINITY] = changes;
    flow.first.push(first - askedAt);
    flow.final.push(Math.max(0, (changes.at(-1) ?? Number.POSITIVE_INFINITY) - endedAt));
    for (let at = first + 1_000; at < endedAt; at += 1_000)
      flow.age.push(at - (changes.findLast((time) => time <= at) ?? first));
  }
  return flow;
}

/** Number of calls that put on screen what their message already showed. */
function sameTexts(log: readonly Call[]): number {
  const shown = new Map<string, string>();
  let same = 0;
  for (const { kind, part } of log) {
    if (part === undefined || kind === 'draft') continue;
    const look = JSON.stringify([part.body.text, part.plain, part.buttons]);
    if (shown.get(part.nonce) === look) same++;
    shown.set(part.nonce, look);
  }
  return same;
}

/** The quantile: the value that this share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** A flow on one line. */
export function summary(flow: Flow): string {
  const of = (values: readonly number[]): string =>
    `${Math.round(quantile(values, 0.5))}/${Math.round(quantile(values, 0.99))}`;
  const refused = ((100 * flow.refused) / flow.calls).toFixed(2);
  return `first ${of(flow.first)} · final ${of(flow.final)} · screen age ${Math.round(quantile(flow.age, 0.5))} · refused ${refused} % · early ${flow.early} · ${flow.calls} calls`;
}
