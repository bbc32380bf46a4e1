/** A whole turn on a real store: messages are accepted, heads claimed and run, events and screens recorded. */
import { limitsRule } from '../../../src/intake/limits.ts';
import { createBudgets } from '../../../src/ops/budgets.ts';
import { pricesRule } from '../../../src/protocol/agent/usage.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import { createModels } from '../../../src/agent/model/models.ts';
import type { AgentDeps } from '../../../src/agent/deps.ts';
import type { AfterTurnSettings, SubagentStore } from '../../../src/protocol/agent/subagents.ts';
import type { EventBus, LaneOutcome } from '../../../src/protocol/bus.ts';
import { type EventBody, FIRST_EVENT_ID } from '../../../src/protocol/event.ts';
import type { LaneClass, LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { AcceptRequest } from '../../../src/protocol/store/accept.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { LiveTurnStart } from '../../../src/protocol/delivery.ts';
import { addressOf, type InboundMessage } from '../../../src/protocol/message.ts';
import type { TurnFinish } from '../../../src/protocol/store/records.ts';
import type { SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import type { Store } from '../../../src/store/store.ts';
import { createFileJournal } from '../../../src/tools/files/file-journal.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import type { TestDatabases } from '../../database.ts';
import { testLog } from './tool-context.ts';
import { builtInLanguages } from '../gateway/languages.ts';

export const LEASE_MS = 60_000;

export interface TurnScenarioOptions {
  store: Pick<
    Store,
    | 'ledger'
    | 'lanes'
    | 'plans'
    | 'approvals'
    | 'memories'
    | 'choices'
    | 'contexts'
    | 'subagents'
    | 'todos'
    | 'budgets'
    | 'usage'
    | 'replays'
    | 'undo'
  >;
  provider: AgentDeps['provider'];
  tools?: ReturnType<AgentDeps['tools']>;
  /** Instead of `tools`: those available at the moment. */
  currentTools?: AgentDeps['tools'];
  profile?: Partial<Profile>;
  /** Profiles next to the default one. */
  others?: readonly Profile[];
  limits?: ReturnType<AgentDeps['settings']['current']>['limits'];
  model?: string | undefined;
  /** Workers after turns; titles and facts are off by default, so that scripts hold what a turn asks. */
  afterTurn?: Partial<AfterTurnSettings>;
  /** `limits` and `prices` of config.json. */
  budgets?: { limits?: object; prices?: object };
  /** User ids of owners; unset = no one is one. */
  owners?: readonly string[];
  /** Replaces the folders of the sessions. */
  files?: Partial<SessionFiles>;
  receiveFiles?: AgentDeps['media']['receiveFiles'];
  pictures?: AgentDeps['media']['pictures'];
  /** Where AGENTS.md and similar files are. */
  workspaceDir?: string;
  /** Observes, or breaks, the ledger's calls, and those on subagents. */
  around?: (ledger: Ledger) => Ledger;
  aroundSubagents?: (subagents: SubagentStore) => SubagentStore;
}

/**
 * Opens a store and a scenario on it, registered as a node. By the end of the test, the script must have been
 * completed.
 */
export async function openScenario(
  databases: TestDatabases,
  options: Omit<TurnScenarioOptions, 'store'> & Partial<Pick<TurnScenarioOptions, 'store'>>,
): Promise<TurnScenario> {
  const scenario = new TurnScenario({ ...options, store: options.store ?? (await databases.open()) });
  onTestFinished(() => scenario.close());
  await scenario.start();
  return scenario;
}

/** What happened in a scenario, in order: events by type, screen and ledger steps by name. */
export class TurnScenario {
  readonly agent: Agent;
  readonly store: TurnScenarioOptions['store'];
  /** Events of all turns, as emitted; those of subagents separately. */
  readonly events: EventBody[] = [];
  readonly ofAgents: (EventBody & { agentId: string })[] = [];
  /** `open`, `settle`, `finish` and `turn_ended`, in the order they happened. */
  readonly order: string[] = [];
  readonly opened: LiveTurnStart[] = [];
  /** What the cards of background subagents said, in order. */
  readonly cards: string[] = [];
  readonly textsSoFar: (string | undefined)[] = [];
  readonly logLines: string[] = [];
  /** Heads of subagents that turns moved to the background. */
  readonly background: LaneHead[] = [];
  /** What the turns committed at their end. */
  readonly finishes: TurnFinish[] = [];
  /** Called for each event of a turn as it happens. */
  onEvent: ((event: EventBody) => void) | undefined;
  profile: Profile;
  node = '';
  readonly #options: TurnScenarioOptions;
  #files: string | undefined;

  constructor(options: TurnScenarioOptions) {
    this.#options = options;
    this.store = options.store;
    const enabledTools = (options.tools ?? []).map((tool) => tool.name);
    this.profile = {
      ...defaultProfile('You are Parley.'),
      systemPrompt: '',
      enabledTools,
      ...options.profile,
    };
    this.agent = createAgent(this.#deps());
  }

  /** Registers as a process of `instance`: what an earlier one held is free again. */
  async start(instance = 'scenario'): Promise<void> {
    this.node = await this.store.lanes.register(instance, LEASE_MS);
  }

  /** Accepts a message and returns the claimed head, or undefined if the lane is busy. */
  async say(content: string, over: Partial<InboundMessage> = {}, request: Partial<AcceptRequest> = {}) {
    const message = inboundMessage(content, over);
    const accepted = await this.store.ledger.accept({
      message,
      address: addressOf(message),
      entry: 'runStream',
      node: this.node,
      ...request,
    });
    if (accepted.kind !== 'accepted') throw new Error(`The message was ${accepted.kind}.`);
    return { turnId: accepted.turnId, head: accepted.heads.find((head) => head.lane.startsWith('in:')) };
  }

  /** Claims any due `in:` head, as a sweep does; or of another class. */
  async sweep(laneClass: LaneClass = 'in'): Promise<LaneHead | undefined> {
    const heads = await this.store.lanes.sweep(this.node, [{ class: laneClass, free: 10 }]);
    return heads[0];
  }

  /** Removes the files and closes the provider, which complains if its script was not completed. */
  async close(): Promise<void> {
    await this.agent.close();
    if (this.#files !== undefined) await rm(this.#files, { recursive: true });
    await this.#options.provider.close();
  }

  run(head: LaneHead | undefined, signal = new AbortController().signal): Promise<LaneOutcome> {
    if (head === undefined) throw new Error('There is no head to run.');
    const handler = head.lane.startsWith('agent:') ? this.agent.subagents : this.agent.turns;
    return handler.handle(head, signal);
  }

  /** Says something and runs the turn to its end; returns its last message. */
  async ask(content: string, over?: Partial<InboundMessage>, request?: Partial<AcceptRequest>) {
    const { turnId, head } = await this.say(content, over, request);
    const outcome = await this.run(head);
    return { turnId, outcome, turn: await this.store.ledger.turn(turnId) };
  }

  /** The deltas that were not taken back, joined: what a reader of these events has on screen. */
  shown(events: readonly EventBody[] = this.events): string {
    const said = new Map<string, string>();
    for (const event of events) {
      if (event.type === 'stream_chunk') said.set(event.msgId, (said.get(event.msgId) ?? '') + event.delta);
      if (event.type === 'stream_reset') said.delete(event.msgId);
    }
    return [...said.values()].join('');
  }

  types(): string[] {
    return this.events.map((event) => event.type);
  }

  #deps(): AgentDeps {
    const { store, provider, tools = [], limits = {}, model, around = (ledger) => ledger } = this.#options;
    const { limits: caps = {}, prices = {} } = this.#options.budgets ?? {};
    const rules = { limits: limitsRule.parse(caps), prices: pricesRule.parse(prices) };
    const budgets = createBudgets({ store, now: () => rules, epochNow: Date.now });
    const plain = this.#options.aroundSubagents?.(store.subagents) ?? store.subagents;
    const { ledger: inner, subagents } = budgets.settling({ ledger: around(store.ledger), subagents: plain });
    const ledger: Ledger = {
      ...inner,
      finishTurn: async (fence, finish) => {
        const step = await inner.finishTurn(fence, finish);
        this.order.push('finish');
        this.finishes.push(finish);
        return step;
      },
    };
    const afterTurn = { compression: true, facts: false, title: false, ...this.#options.afterTurn };
    const settings = { limits, timeZone: 'UTC', afterTurn, speaks: false };
    const profiles = () => [this.profile, ...(this.#options.others ?? [])];
    return {
      stores: { ...store, ledger, subagents, contacts: { contact: async () => undefined } },
      media: {
        receiveFiles: this.#options.receiveFiles ?? (async () => []),
        pictures: this.#options.pictures ?? (async () => undefined),
        readInline: async ({ name }) => ({ name }),
        answerFiles: async (_folder, content) => ({ media: [], content }),
        files: this.#folders(),
        journal: createFileJournal(this.#folders(), store.undo, testLog(this.logLines)),
      },
      chats: {
        events: this.#eventBus(),
        live: {
          open: (start) => {
            this.order.push('open');
            this.opened.push(start);
            return { settle: async () => (this.order.push('settle'), undefined), shownOn: () => [] };
          },
          announceAgent: async ({ agentId }) => void this.cards.push(`${agentId} working`),
          followAgent: () => ({ release: async () => undefined }),
          endAgent: async ({ agentId }, end) => void this.cards.push(`${agentId} ${end}`),
        },
        post: async () => ({ kind: 'foreign' }),
        mirrorQuestion: async () => undefined,
        languages: builtInLanguages,
      },
      background: {
        claimingNode: () => this.node,
        runHeads: ({ heads }) => void this.background.push(...heads),
        sweepSoon: () => undefined,
      },
      finishUndo: async () => undefined,
      ownerChats: async () => [],
      isOwner: async (userId) => this.#options.owners?.includes(userId) ?? false,
      budgets,
      knowledge: { has: () => false, cited: async () => [] },
      ...(this.#options.workspaceDir !== undefined && { workspaceDir: this.#options.workspaceDir }),
      provider,
      embed: () => Promise.reject(new Error('no text is turned into a vector here')),
      tools: this.#options.currentTools ?? (() => tools),
      profiles,
      environmentNote: {
        epochNow: () => Date.UTC(2026, 10, 22, 15, 2),
        channelLabel: () => 'Telegram',
      },
      models: createModels({
        provider,
        profiles,
        model: 'model' in this.#options ? model : 'test-model',
        choices: this.store.choices,
        log: testLog(this.logLines),
      }),
      traces: {
        noteAttempt: async () => undefined,
        begin: () => () => undefined,
        ended: () => undefined,
        subagentEnded: () => undefined,
        decided: () => undefined,
      },
      redact: (text) => text,
      log: testLog(this.logLines),
      settings: { current: () => settings },
    };
  }

  /** The folders of the sessions, as far as turns use them. */
  #folders(): SessionFiles {
    const folders: Partial<SessionFiles> = this.#options.files ?? {
      open: async (folder) => (await this.#sessionFiles()).open(folder),
      share: async (folder) => (await this.#sessionFiles()).share(folder),
      named: async (...request) => (await this.#sessionFiles()).named(...request),
      state: async (folder) => (await this.#sessionFiles()).state(folder),
      marks: async (folder) => (await this.#sessionFiles()).marks(folder),
      read: async (folder, name) => (await this.#sessionFiles()).read(folder, name),
    };
    return folders as SessionFiles;
  }

  /** Below its own folder, created when it is first needed. */
  async #sessionFiles(): Promise<SessionFiles> {
    this.#files ??= await mkdtemp(path.join(os.tmpdir(), 'parley-scenario-'));
    return createSessionFiles(this.#files, testLog(this.logLines));
  }

  #eventBus(): EventBus {
    const note = (body: EventBody, from?: { agentId: string }): void => {
      if (from !== undefined) {
        this.ofAgents.push({ ...body, ...from });
        return;
      }
      this.events.push(body);
      this.onEvent?.(body);
      if (body.type === 'turn_ended') this.order.push('turn_ended');
    };
    return {
      emit: (_session, body, from) => note(body, from),
      turn: ({ textSoFar }) => {
        this.textsSoFar.push(textSoFar);
        return { emit: note };
      },
      subscribe: () => () => undefined,
      replay: () => ({ events: [] }),
      lastEventId: () => FIRST_EVENT_ID,
      start: async () => undefined,
      stop: async () => undefined,
    };
  }
}

export function inboundMessage(content: string, over: Partial<InboundMessage> = {}): InboundMessage {
  return {
    id: newId(),
    channel: 'telegram',
    chatId: '42',
    senderId: '42',
    content,
    timestamp: Date.now(),
    media: [],
    place: 'private',
    mentioned: true,
    ...over,
  };
}
