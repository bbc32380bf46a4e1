/** The intake over a real store, with quiet parts around it: a test replaces those that it looks at. */
import { createEventBus } from '../../../src/bus/event-bus.ts';
import { profileSchema } from '../../../src/protocol/agent/profile.ts';
import { createApprovals } from '../../../src/intake/approvals/approvals.ts';
import type {
  IntakeContext,
  IntakeModels,
  IntakeOptions,
  StatusReports,
} from '../../../src/intake/context.ts';
import { createNoteContact } from '../../../src/intake/surfaces/find-chat.ts';
import { ThreadTalk } from '../../../src/intake/thread-talk.ts';
import { limitsRule } from '../../../src/intake/limits.ts';
import { silentLog, type TestStore } from '../../database.ts';
import { partial } from '../partial.ts';
import { FakeSettings } from '../settings.ts';
import { builtInLanguages } from './languages.ts';
import { quietBus } from './quiet-bus.ts';

const PROFILE = {
  ...profileSchema.parse({}),
  id: 'default',
  persona: '',
  systemPrompt: '',
  subagentSystemPrompt: '',
};

/** What the composition root hands to the intake. */
export function intakeOptions(store: TestStore, change: Partial<IntakeOptions> = {}): IntakeOptions {
  return {
    store,
    ledger: store.ledger,
    bus: quietBus(),
    events: createEventBus({ nodeId: 'n1', log: silentLog }),
    log: silentLog,
    settings: new FakeSettings({ limits: limitsRule.parse({}), hooks: new Map(), heartbeat: {} }),
    accessPolicy: partial(),
    languages: builtInLanguages,
    undoing: partial(),
    profiles: () => [PROFILE],
    models: partial<IntakeModels>({ describe: async () => 'fake', about: async () => '' }),
    boundTo: () => undefined,
    agent: {
      classifyStep: () => 'safe',
      checkArgs: () => undefined,
      modelOf: async () => ({ model: 'm', tools: true }),
    },
    linking: partial(),
    channels: new Map(),
    monotonicNow: () => performance.now(),
    status: partial<StatusReports>({
      profileErrors: () => [],
      mcp: () => [],
      plugins: () => [],
      knowledge: () => undefined,
      settings: () => ({ errors: [], needsRestart: [] }),
      webhooks: async () => [],
      channelNotices: () => [],
    }),
    noteRefusal: () => undefined,
    noteWaiting: () => undefined,
    commands: [],
    ...change,
  };
}

/** The same as the functions of the intake get it. */
export function intakeContext(store: TestStore, change: Partial<IntakeContext> = {}): IntakeContext {
  const options = intakeOptions(store, change);
  return {
    ...options,
    linking: partial(),
    openThread: async () => undefined,
    threads: new ThreadTalk(options),
    noteContact: createNoteContact(store.contacts, options.monotonicNow),
    approvals: createApprovals(store.approvals, store.lanes, options.bus, options.agent.checkArgs, silentLog),
    ...change,
  };
}
