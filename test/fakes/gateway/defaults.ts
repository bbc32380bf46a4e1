/** The fake gateway's default answers: its health, its models, a new session. */
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { GatewayApi, HealthReport } from '../../../src/protocol/gateway-api.ts';
import { readMode } from '../../../src/protocol/agent/plan.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { SessionRecord } from '../../../src/protocol/store/records.ts';

/** Everything is up. */
export const READY: HealthReport = {
  ready: true,
  store: 'up',
  events: { state: 'up' },
  model: { state: 'up' },
  channels: { http: { state: 'up', label: 'Web' }, telegram: { state: 'up', label: 'Telegram' } },
  mcp: {},
  plugins: {},
  profiles: { state: 'up' },
  settings: { state: 'up', errors: [], needsRestart: [] },
  pending: 0,
  running: 0,
  version: '0.1.0',
  demo: false,
};

/** Nothing replaces the usual model. */
const ANSWERING = {
  configured: 'big:7b',
  answering: 'big:7b',
  reason: undefined,
  tools: true,
  omissions: [],
};

/** A gateway without plans, and without sessions that anyone may act on. */
export const EMPTY: Pick<
  GatewayApi,
  'plans' | 'conversations' | 'surfaces' | 'signIns' | 'hooks' | 'memories' | 'push' | 'replays'
> = {
  replays: {
    replay: async () => undefined,
    mark: async () => undefined,
    unmark: async () => false,
    marks: async () => [],
  },
  push: {
    publicKey: async () => 'BA',
    browsers: async () => [],
    subscribe: async () => 'browser-1',
    unsubscribe: async () => false,
  },
  memories: { own: async () => [], deleteMemory: async () => false },
  hooks: { has: () => false, accept: async () => ({ kind: 'unsigned', reason: 'missing' }) },
  plans: {
    list: async () => [],
    read: async () => undefined,
    change: async () => undefined,
    cancel: async () => undefined,
    restore: async () => undefined,
    run: async () => undefined,
  },
  surfaces: {
    list: async () => undefined,
    giveCode: async () => undefined,
    enterCode: async () => undefined,
    answer: async () => undefined,
    separate: async () => undefined,
  },
  signIns: {
    redeem: async () => undefined,
    list: async () => [],
    endOthers: async () => 0,
    end: async () => false,
    signOut: async () => undefined,
    ticket: async () => 'ticket',
    redeemTicket: async () => undefined,
    proxyHeader: () => undefined,
    byProxy: async () => ({ kind: 'refused', code: 'unknown_user', text: 'Nobody.' }),
    frames: () => [],
    inApp: async () => ({ kind: 'refused', code: 'invalid_sign_in', text: 'Nobody.' }),
  },
  conversations: {
    resets: () => Promise.resolve([]),
    fork: async () => undefined,
    lastQuestion: async () => undefined,
    undo: async () => undefined,
    model: async () => ({ ...ANSWERING, from: 'gateway', profileId: 'default' }),
    choices: async () => ({
      profiles: [
        { id: 'default', description: undefined, plans: true },
        { id: 'chatty', description: 'Talks', plans: false },
      ],
      models: ['big:7b', 'tiny:1b'],
      mode: 'planner',
      model: ANSWERING,
      problem: undefined,
    }),
    checkChoice: async (_caller, { mode, ...asked }) => ({ ...asked, ...(mode && { mode: readMode(mode) }) }),
    choose: async () => undefined,
    queue: async () => undefined,
    changeWaiting: async () => undefined,
  },
};

/** One model, and the profile that uses it. */
export function listModels(): Promise<string[]> {
  return Promise.resolve(['default', 'tiny:1b']);
}

/** Throws `GatewayError('unknown_model')` for any other. */
export function resolveModel(model: string): Promise<{ profileId?: string; model?: string }> {
  if (model === 'default') return Promise.resolve({});
  if (model === 'tiny:1b') return Promise.resolve({ model });
  return Promise.reject(
    new GatewayError('unknown_model', `There is no model "${model}"; see GET /v1/models.`),
  );
}

/** The model can do everything. Throws `GatewayError('unknown_model')`. */
export const describeModel: GatewayApi['describeModel'] = async (_caller, model) => {
  const { model: name = 'tiny:1b' } = await resolveModel(model);
  return { name, capabilities: { contextWindow: 8_192, tools: true, thinking: true, vision: true } };
};

/** One counter, as Prometheus text. */
export function metrics(): Promise<string> {
  return Promise.resolve('# TYPE parley_turns_total counter\nparley_turns_total 3\n');
}

/** A file without errors. */
export function settings(): ReturnType<GatewayApi['settings']> {
  return { file: '/home/config.json', values: { persona: 'Polly' }, errors: [], needsRestart: [] };
}

/** A session without messages. */
export function newRecord(key: SessionKey, ownerTokenId: string | undefined): SessionRecord {
  return {
    key,
    profileId: 'default',
    profileChosen: false,
    mode: 'planner',
    queueMode: 'queue',
    ownerTokenId,
    folder: key,
    sources: [],
    freshAt: new Date(),
    createdAt: new Date(),
    updatedAt: new Date(),
    messageCount: 0,
    pinned: false,
    archived: false,
    readSeq: 0,
    voice: false,
    voiceFailing: false,
  };
}
