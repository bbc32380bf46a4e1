/** The gateway API for tests of channels: sessions, turns and events in memory, with the checks of the real one. */
import { fakeAdministration } from './administration.ts';
import type { ApprovalRecord, Decided } from '../../../src/protocol/agent/approvals.ts';
import type { Caller } from '../../../src/protocol/access.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import type { GatewayApi, StatelessRequest } from '../../../src/protocol/gateway-api.ts';
import type { InboundMessage, SessionKey } from '../../../src/protocol/message.ts';
import type { PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import type { ChatChunk } from '../../../src/protocol/agent/provider.ts';
import type { Receipt, ReceiveOptions } from '../../../src/protocol/receive.ts';
import { createServeMcp } from '../../../src/mcp/index.ts';
import type { MessageRecord, SessionRecord } from '../../../src/protocol/store/records.ts';
import type { ListedSession, TurnStatus } from '../../../src/protocol/sessions/session-list.ts';
import { echoCompletion, fakeEmbed } from '../model/echo-completion.ts';
import {
  EMPTY,
  describeModel,
  listModels,
  metrics,
  newRecord,
  READY,
  resolveModel,
  settings,
} from './defaults.ts';
import { COMMANDS, commandsFor, knownCallers, validOf } from './callers.ts';
import { FakeEvents } from './events.ts';
import { speechBy } from './audio.ts';
import { attachmentsOf, fakeFileApi } from './files.ts';
import {
  changeRecord,
  type FakeSession,
  foundIn,
  listed,
  mayRead,
  newestOf,
  refused,
  repeatOf,
} from './session.ts';
import { fakeResponses } from '../stores/responses.ts';
import { fakeScheduleApi } from '../stores/schedules.ts';
import { FakeTurn } from './turn.ts';
import { fakeUsage } from '../stores/usage.ts';

const [MAX_PENDING, MAX_TEXT] = [5, 32_000];
export { ADMIN, CHAT, OTHER } from './callers.ts';

/** What a turn does when it starts. */
export type Script = (turn: FakeTurn) => void | Promise<void>;

/** The fake gateway; `script` decides what it does with a message. */
export class FakeGateway implements GatewayApi {
  readonly tokens = knownCallers();
  readonly schedules = fakeScheduleApi();
  readonly usage = fakeUsage;
  readonly suggest = async () => [];
  mayWrite: GatewayApi['mayWrite'] = async () => false;
  readonly turns = new Map<string, FakeTurn>();
  readonly newestPlans = new Map<SessionKey, PlanRecord>();
  plans: GatewayApi['plans'] = EMPTY.plans;
  conversations: GatewayApi['conversations'] = { ...EMPTY.conversations };
  readonly surfaces = EMPTY.surfaces;
  replays: GatewayApi['replays'] = EMPTY.replays;
  audio: GatewayApi['audio'] = speechBy({});
  memories: GatewayApi['memories'] = EMPTY.memories;
  push: GatewayApi['push'] = EMPTY.push;
  pendingApprovals: ApprovalRecord[] = [];
  chatMoved: GatewayApi['chatMoved'] = async () => undefined;
  membershipChanged: GatewayApi['membershipChanged'] = async () => undefined;
  messagesDeleted: GatewayApi['messagesDeleted'] = async () => undefined;
  readonly approvals = async (): Promise<ApprovalRecord[]> => this.pendingApprovals;
  actOnPlan: GatewayApi['actOnPlan'] = async () => undefined;
  groups: GatewayApi['groups'] = async () => [];
  answerTools: GatewayApi['answerTools'] = async () => undefined;
  checkOptions: GatewayApi['checkOptions'] = async () => undefined;
  trace: GatewayApi['trace'] = async () => undefined;
  noteRefusal: GatewayApi['noteRefusal'] = () => undefined;
  noteRequest: GatewayApi['noteRequest'] = () => undefined;
  readonly embed = fakeEmbed;
  readonly responses = fakeResponses();
  signIns: GatewayApi['signIns'] = EMPTY.signIns;
  hooks: GatewayApi['hooks'] = EMPTY.hooks;
  webhook: GatewayApi['webhook'] = () => undefined;
  interactions: GatewayApi['interactions'] = () => undefined;
  answerRequest: GatewayApi['answerRequest'] = () => undefined;
  readonly administration = fakeAdministration();
  approvalRules: GatewayApi['approvalRules'] = async () => [];
  removeApprovalRule: GatewayApi['removeApprovalRule'] = async () => false;
  answer: GatewayApi['answer'] = async (): Promise<Decided> => ({ kind: 'unknown' });
  decide: GatewayApi['decide'] = async (): Promise<Decided> => ({ kind: 'unknown' });
  askPerson: GatewayApi['askPerson'] = async (_caller, _message, _asked, send) => await send(undefined);
  readonly serveMcp = createServeMcp('1');
  readonly commands = COMMANDS;
  readonly commandsFor = commandsFor;
  script: Script = (turn) => {
    turn.say('You said: ', turn.message.content);
    turn.end();
  };
  completion: (request: StatelessRequest, signal: AbortSignal) => AsyncIterable<ChatChunk> = echoCompletion;
  report = structuredClone(READY);
  turnConcurrency = 256;
  /** Makes every call that needs the store fail. */
  storeDown = false;
  /** Number of calls of `newestOwnMessage`: repeated requests. */
  repeats = 0;
  authentications = 0;
  readonly events = new FakeEvents();
  readonly files = fakeFileApi({
    visible: (caller, key) => this.session(caller, key),
    make: async ({ tokenId }, key) => this.#sessions.has(key) || this.addSession(key, tokenId),
  });
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
    const isEmpty = message.content.trim() === '' && message.media.length === 0;
    if (isEmpty) return refused('empty', 'The message is empty.');
    if (message.content.length > MAX_TEXT) return refused('too_large', `At most ${MAX_TEXT} characters.`);
    if (message.content === '/status') return { kind: 'handled', reply: '**All** is well.\n- `idle`' };
    const session = known ?? this.addSession(key, owner, options.begins);
    const repeated = repeatOf(message, [...this.turns.values()], session);
    if (repeated !== undefined) return repeated;
    const isFull = session.queue.length >= MAX_PENDING;
    if (isFull) return refused('queue_full', `${MAX_PENDING} messages wait already.`);
    const turn = new FakeTurn(this, key, `turn-${(this.#turnIds += 1)}`, message, options);
    this.turns.set(turn.id, turn);
    const row = this.commit(key, turn.id, 'user', message.content, false);
    row.attachments = attachmentsOf(message.media);
    const position = session.queue.push(turn) - 1;
    this.events.emit(key, { type: 'message_received', content: message.content, seq: row.seq });
    if (position === 0) queueMicrotask(() => this.#begin(turn));
    else this.events.emit(key, { type: 'queue_position', position });
    return { kind: 'accepted', turnId: turn.id, seq: row.seq, position };
  };

  authenticate(authorization: string | undefined): Promise<Caller | undefined> {
    this.authentications += 1;
    // The scheme is case-insensitive.
    return Promise.resolve(this.tokens.get((authorization ?? '').replace(/^bearer /i, 'Bearer ')));
  }

  recheck(authorizations: readonly string[]): Promise<ReadonlyMap<string, Caller>> {
    return Promise.resolve(validOf(this.tokens, authorizations));
  }

  async sessionCount({ tokenId }: Caller, limit: number): Promise<number> {
    await this.#commitTime();
    const own = [...this.#sessions.values()].filter(({ record }) => record.ownerTokenId === tokenId);
    return Math.min(limit, own.length);
  }

  async unfinishedTurns(turnIds: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#commitTime();
    return new Set(turnIds.filter((id) => ['queued', 'running'].includes(this.turns.get(id)?.state ?? '')));
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

  async sessions(caller: Caller, page: Parameters<GatewayApi['sessions']>[1]): Promise<ListedSession[]> {
    await this.#commitTime();
    return listed([...this.#sessions.values()], caller, page);
  }

  async searchSessions(caller: Caller, text: string): ReturnType<GatewayApi['searchSessions']> {
    await this.#commitTime();
    return { found: foundIn([...this.#sessions.values()], caller, text), more: false };
  }

  async session(caller: Caller, key: SessionKey): Promise<SessionRecord | undefined> {
    await this.#commitTime();
    return this.#visible(caller, key)?.record;
  }

  async updateSession(
    caller: Caller,
    key: SessionKey,
    change: Parameters<GatewayApi['updateSession']>[2],
  ): Promise<SessionRecord | undefined> {
    const record = await this.session(caller, key);
    return record && changeRecord(record, caller, change);
  }

  async deleteSession(caller: Caller, key: SessionKey): Promise<boolean> {
    await this.#commitTime();
    const session = this.#visible(caller, key);
    if (session === undefined) return false;
    const [running, ...waiting] = session.queue.splice(0);
    running?.stopped.abort();
    running?.end('stopped', '*(stopped)*');
    this.#sessions.delete(key);
    for (const turn of [running, ...waiting]) if (turn !== undefined) this.turns.delete(turn.id);
    this.events.emit(key, { type: 'session_deleted' });
    return true;
  }

  async plan(caller: Caller, key: SessionKey): ReturnType<GatewayApi['plan']> {
    await this.#commitTime();
    const newest = this.newestPlans.get(key);
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

  messagesWithWork: GatewayApi['messagesWithWork'] = async (caller, key, page) => {
    const messages = await this.messages(caller, key, page);
    return messages && { messages, work: this.events.workOf(key, messages) };
  };

  async turn(turnId: string): Promise<TurnStatus | undefined> {
    await this.#commitTime();
    return this.turns.get(turnId)?.status();
  }

  readonly models = listModels;
  readonly resolveModel = resolveModel;
  readonly describeModel = describeModel;
  readonly metrics = metrics;
  readonly settings = settings;

  complete(_caller: Caller, request: StatelessRequest, signal: AbortSignal): AsyncIterable<ChatChunk> {
    return this.completion(request, signal);
  }

  subscribe: GatewayApi['subscribe'] = (filter, listener) => this.events.subscribe(filter, listener);
  replay: GatewayApi['replay'] = (key, lastEventId) => this.events.replay(key, lastEventId);
  lastEventId: GatewayApi['lastEventId'] = (key) => this.events.lastEventId(key);

  async newestOwnMessage(caller: Caller, key: SessionKey): ReturnType<GatewayApi['newestOwnMessage']> {
    this.repeats += 1;
    await this.#commitTime();
    return newestOf([...this.turns.values()], caller, key);
  }

  health = (): ReturnType<GatewayApi['health']> => Promise.resolve(this.report);

  // For tests.
  addSession(key: SessionKey, ownerTokenId?: string, begins: Partial<SessionRecord> = {}): FakeSession {
    const record = { ...newRecord(key, ownerTokenId), ...begins };
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
    const createdAt = new Date((this.#clock += 1));
    const row: MessageRecord = { seq, turnId, role, content, isPlan, isError, createdAt };
    session.messages.push(row);
    session.record.messageCount = seq;
    session.record.updatedAt = createdAt;
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
