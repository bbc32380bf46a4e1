/** The gateway API for tests of channels: sessions, turns and events in memory, with the checks of the real one. */
import type { ApprovalRecord, Decided } from '../../../src/contracts/approvals.ts';
import type { CommandListing } from '../../../src/contracts/command.ts';
import type { Caller } from '../../../src/contracts/access.ts';
import type { EventFilter, EventListener, EventReplay } from '../../../src/contracts/bus.ts';
import { GatewayError, StoreError } from '../../../src/contracts/errors.ts';
import type { GatewayApi, StatelessRequest, TurnStatus } from '../../../src/contracts/gateway-api.ts';
import type { HealthReport } from '../../../src/contracts/gateway-api.ts';
import type { InboundMessage, SessionKey } from '../../../src/contracts/message.ts';
import type { PlanRecord } from '../../../src/contracts/plan-store.ts';
import type { ChatChunk } from '../../../src/contracts/provider.ts';
import type { Receipt, ReceiveOptions } from '../../../src/contracts/receive.ts';
import type { MessageRecord, SessionRecord } from '../../../src/contracts/records.ts';
import { echoCompletion } from '../echo-completion.ts';
import { FakeEvents } from './events.ts';
import { mayRead, refused, seqOf } from './session.ts';
import type { FakeSession } from './session.ts';
import { fakeScheduleApi } from '../schedules.ts';
import { FakeTurn, USAGE } from './turn.ts';
import { fakeUsage } from '../usage.ts';

/** `Authorization` values of an owner and of two users with the scope `chat`. */
export const ADMIN = 'Bearer admin-token-of-the-owner';
export const CHAT = 'Bearer chat-token-of-a-friend';
export const OTHER = 'Bearer chat-token-of-a-stranger';

const MAX_PENDING = 5;
const MAX_TEXT = 32_000;
const MODES = ['planner', 'agentic', 'teacher'] as const;

/** What a turn does when it starts. */
export type Script = (turn: FakeTurn) => void | Promise<void>;

/** The fake gateway; `script` decides what it does with a message. */
export class FakeGateway implements GatewayApi {
  readonly tokens = new Map<string, Caller>([
    [ADMIN, { tokenId: 'admin', scopes: ['admin', 'chat'] }],
    [CHAT, { tokenId: 'friend', scopes: ['chat'] }],
    [OTHER, { tokenId: 'stranger', scopes: ['chat'] }],
  ]);
  readonly schedules = fakeScheduleApi();
  readonly usage = fakeUsage;
  readonly turns = new Map<string, FakeTurn>();
  /** The newest plans, by session. */
  readonly plans = new Map<SessionKey, PlanRecord>();
  pendingApprovals: ApprovalRecord[] = [];
  chatMoved: GatewayApi['chatMoved'] = async () => undefined;
  readonly approvals = async (): Promise<ApprovalRecord[]> => this.pendingApprovals;
  actOnPlan: GatewayApi['actOnPlan'] = async () => undefined;
  decide: GatewayApi['decide'] = async (): Promise<Decided> => ({ kind: 'unknown' });
  readonly commands: CommandListing[] = [
    { name: 'stop', description: 'Stop the running answer and drop queued messages' },
    { name: 'new', description: 'Start a fresh conversation' },
    { name: 'status', description: 'What is running and what waits' },
    {
      name: 'mode',
      description: 'How plans are followed here',
      argument: { name: 'mode', description: 'Which', required: false },
    },
    { name: 'help', description: 'This list' },
  ];
  script: Script = (turn) => {
    turn.say('You said: ', turn.message.content);
    turn.end();
  };
  completion: (request: StatelessRequest, signal: AbortSignal) => AsyncIterable<ChatChunk> = echoCompletion;
  report: HealthReport = {
    ready: true,
    store: 'up',
    model: { state: 'up' },
    channels: { http: { state: 'up', label: 'Web' }, telegram: { state: 'up', label: 'Telegram' } },
    profiles: { state: 'up' },
    pending: 0,
    running: 0,
    version: '0.1.0',
    demo: false,
  };
  /** Makes every call that needs the store fail. */
  storeDown = false;
  /** Number of calls of `authenticate`. */
  authentications = 0;
  readonly events = new FakeEvents();
  readonly #sessions = new Map<SessionKey, FakeSession>();
  #turnIds = 0;
  #clock = Date.now();

  receive = async (message: InboundMessage, options: ReceiveOptions = {}): Promise<Receipt> => {
    await this.#commitTime();
    const key: SessionKey = message.sessionKey ?? `${message.channel}:${message.chatId}`;
    const owner = message.channel === 'http' ? message.senderId.slice('token:'.length) : undefined;
    const known = this.#sessions.get(key);
    if (known !== undefined && options.caller && !mayRead(known.record, options.caller))
      return refused('denied', 'No.');
    if (message.content.trim() === '') return refused('empty', 'The message is empty.');
    if (message.content.length > MAX_TEXT) return refused('too_large', `At most ${MAX_TEXT} characters.`);
    if (message.content === '/status') return { kind: 'handled', reply: 'All is well.' };
    const session = known ?? this.addSession(key, owner);
    const repeated = [...this.turns.values()].find(
      (turn) => turn.message.id === message.id && turn.message.chatId === message.chatId,
    );
    if (repeated !== undefined)
      return { kind: 'duplicate', turnId: repeated.id, seq: seqOf(session, repeated.id) };
    if (session.queue.length >= MAX_PENDING)
      return refused('queue_full', `${MAX_PENDING} messages wait already.`);
    const turn = new FakeTurn(this, key, `turn-${(this.#turnIds += 1)}`, message, options);
    this.turns.set(turn.id, turn);
    const row = this.commit(key, turn.id, 'user', message.content, false);
    const position = session.queue.push(turn) - 1;
    this.events.emit(key, { type: 'message_received', content: message.content, seq: row.seq });
    if (position === 0) queueMicrotask(() => this.#begin(turn));
    else this.events.emit(key, { type: 'queue_position', position });
    return { kind: 'accepted', turnId: turn.id, seq: row.seq, position };
  };

  authenticate(authorization: string | undefined): Promise<Caller | undefined> {
    this.authentications += 1;
    return Promise.resolve(this.tokens.get(authorization ?? ''));
  }

  async stop(caller: Caller, key: SessionKey): ReturnType<GatewayApi['stop']> {
    const session = this.#visible(caller, key);
    await this.#commitTime();
    if (session === undefined) return undefined;
    const [running, ...waiting] = session.queue.splice(0);
    running?.stopped.abort();
    for (const turn of [running, ...waiting]) turn?.end('stopped', turn === running ? '*(stopped)*' : '');
    return { stopped: running !== undefined, cancelled: waiting.length };
  }

  async sessions(
    caller: Caller,
    { limit, before }: { limit: number; before?: Date | undefined },
  ): Promise<SessionRecord[]> {
    await this.#commitTime();
    return [...this.#sessions.values()]
      .map(({ record }) => record)
      .filter((record) => mayRead(record, caller) && (before === undefined || record.updatedAt < before))
      .sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime())
      .slice(0, limit);
  }

  async session(caller: Caller, key: SessionKey): Promise<SessionRecord | undefined> {
    await this.#commitTime();
    return this.#visible(caller, key)?.record;
  }

  async updateSession(
    caller: Caller,
    key: SessionKey,
    change: { profileId?: string; model?: string | null; mode?: string; queueMode?: string },
  ): Promise<SessionRecord | undefined> {
    const record = await this.session(caller, key);
    if (record === undefined) return undefined;
    if (!caller.scopes.includes('admin'))
      throw new GatewayError('forbidden', 'Only an owner changes models.');
    if (change.model !== undefined && change.model !== null && change.model !== 'tiny:1b') {
      throw new GatewayError('unknown_model', `There is no model "${change.model}".`);
    }
    record.model = change.model ?? undefined;
    record.profileId = change.profileId ?? record.profileId;
    record.mode = MODES.find((mode) => mode === change.mode) ?? record.mode;
    return record;
  }

  async deleteSession(caller: Caller, key: SessionKey): Promise<boolean> {
    await this.#commitTime();
    return this.#visible(caller, key) !== undefined && this.#sessions.delete(key);
  }

  async plan(caller: Caller, key: SessionKey): ReturnType<GatewayApi['plan']> {
    await this.#commitTime();
    const newest = this.plans.get(key);
    return this.#visible(caller, key) && { newest, todos: [] };
  }

  async messages(
    caller: Caller,
    key: SessionKey,
    { limit, before = Infinity }: { limit: number; before?: number | undefined },
  ): Promise<MessageRecord[] | undefined> {
    await this.#commitTime();
    return this.#visible(caller, key)
      ?.messages.filter((row) => row.seq < before)
      .slice(-limit);
  }

  async turn(turnId: string): Promise<TurnStatus | undefined> {
    await this.#commitTime();
    const turn = this.turns.get(turnId);
    if (turn === undefined) return undefined;
    return {
      state: turn.state,
      reason: turn.reason,
      final: turn.final,
      usage: turn.state === 'done' ? USAGE : undefined,
    };
  }

  models(): Promise<string[]> {
    return Promise.resolve(['default', 'tiny:1b']);
  }

  resolveModel(model: string): Promise<{ profileId?: string; model?: string }> {
    if (model === 'default') return Promise.resolve({});
    if (model === 'tiny:1b') return Promise.resolve({ model });
    return Promise.reject(
      new GatewayError('unknown_model', `There is no model "${model}"; see GET /v1/models.`),
    );
  }

  complete(_caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk> {
    return this.completion(request, signal);
  }

  subscribe(filter: EventFilter, listener: EventListener): () => void {
    return this.events.subscribe(filter, listener);
  }

  replay(key: SessionKey, lastEventId: string | undefined): EventReplay {
    return this.events.replay(key, lastEventId);
  }

  health(): Promise<HealthReport> {
    return Promise.resolve(this.report);
  }

  metrics(): Promise<string> {
    return Promise.resolve('# TYPE parley_turns_total counter\nparley_turns_total 3\n');
  }

  // For tests.

  addSession(key: SessionKey, ownerTokenId?: string): FakeSession {
    const now = new Date();
    const record: SessionRecord = {
      key,
      profileId: 'default',
      mode: 'planner',
      queueMode: 'queue',
      ownerTokenId,
      createdAt: now,
      updatedAt: now,
      messageCount: 0,
    };
    const session: FakeSession = { record, messages: [], queue: [] };
    this.#sessions.set(key, session);
    return session;
  }

  commit(
    key: SessionKey,
    turnId: string,
    role: MessageRecord['role'],
    content: string,
    isError: boolean,
    isPlan = false,
  ): MessageRecord {
    const session = this.#sessions.get(key) ?? this.addSession(key);
    const seq = session.messages.length + 1;
    const row: MessageRecord = {
      seq,
      turnId,
      role,
      content,
      isPlan,
      isError,
      createdAt: new Date((this.#clock += 1)),
    };
    session.messages.push(row);
    session.record.messageCount = seq;
    session.record.updatedAt = row.createdAt;
    return row;
  }

  next(key: SessionKey): void {
    const queue = this.#sessions.get(key)?.queue ?? [];
    if (queue[0]?.state === 'done') queue.shift();
    const turn = queue[0];
    if (turn?.state === 'queued') queueMicrotask(() => this.#begin(turn));
  }

  #begin(turn: FakeTurn): void {
    if (turn.state !== 'queued') return;
    turn.state = 'running';
    turn.emit({ type: 'turn_started' });
    void this.script(turn);
  }

  /** Commits take time: no method answers in the same tick. */
  async #commitTime(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.storeDown)
      throw new StoreError('unavailable', 'The database cannot be reached.', { retryable: true });
  }

  #visible(caller: Caller, key: SessionKey): FakeSession | undefined {
    const session = this.#sessions.get(key);
    return session !== undefined && mayRead(session.record, caller) ? session : undefined;
  }
}
