/** Nodes that run schedules over a real store: announcements are in its lanes, emitted events are recorded. */
import type { EventBus } from '../../src/protocol/bus.ts';
import { quietBus } from '../fakes/gateway/quiet-bus.ts';
import { partial } from '../fakes/partial.ts';
import { onTestFinished } from 'vitest';
import type { CreatorAccess } from '../../src/protocol/access.ts';
import type { EventBody } from '../../src/protocol/event.ts';
import type { ScheduleSettings } from '../../src/schedule/fire.ts';
import { createSendSystemMessage } from '../../src/intake/index.ts';
import { createScheduling, type Scheduling, type SchedulingDeps } from '../../src/schedule/index.ts';
import { SCHEDULE_LIMITS, type ScheduleRecord, type ScheduleStore } from '../../src/protocol/schedules.ts';
import type { TestStore } from '../database.ts';
import { testLog } from '../fakes/agent/tool-context.ts';
import { FakeSettings } from '../fakes/settings.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';

export interface TestNode extends Scheduling {
  /** What was emitted, in order, as `session type`. */
  events: string[];
  bodies: EventBody[];
  log: string[];
  settings: FakeSettings<ScheduleSettings>;
}

/** Everyone may do everything. */
export const anybody: CreatorAccess = {
  placeOf: () => Promise.resolve('private'),
  isOwner: () => Promise.resolve(true),
  isTaken: async () => false,
  isStillAllowed: () => Promise.resolve(true),
};

type NodeOptions = Partial<SchedulingDeps & ScheduleSettings>;

/** A node, not started; stopped after the test. `around` observes or breaks its store. */
export function nodeOf(
  store: TestStore,
  { limits = SCHEDULE_LIMITS, timeZone = 'UTC', heartbeat, ...change }: NodeOptions = {},
  around: (schedules: ScheduleStore) => ScheduleStore = (same) => same,
): TestNode {
  const events: string[] = [];
  const bodies: EventBody[] = [];
  const log: string[] = [];
  const eventBus = partial<EventBus>({
    emit: (session, body) => {
      events.push(`${session} ${body.type}`);
      bodies.push(body);
    },
  });
  const settings = new FakeSettings<ScheduleSettings>({ limits, timeZone, heartbeat });
  const scheduling = createScheduling({
    store: around(store.schedules),
    ledger: store.ledger,
    sendSystemMessage: createSendSystemMessage(store.ledger, quietBus(), eventBus),
    events: eventBus,
    creatorAccess: anybody,
    languages: builtInLanguages,
    settings,
    log: testLog(log),
    ...change,
  });
  onTestFinished(() => scheduling.stop());
  return { ...scheduling, events, bodies, log, settings };
}

/** A schedule of a chat whose slot was two minutes ago. */
export async function keepDue(store: TestStore, change: Partial<ScheduleRecord> = {}): Promise<Date> {
  const slot = change.nextAt ?? new Date(Date.now() - 120_000);
  await store.schedules.addSchedule({
    id: 'news',
    session: 'telegram:42',
    address: 'telegram:42',
    place: 'private',
    creatorId: 'telegram:42',
    timing: { kind: 'every', everyMs: 3_600_000 },
    task: 'Tell me the news.',
    sources: [],
    ...change,
    nextAt: slot,
  });
  return slot;
}

/** What users and the model were sent, by session. */
export async function said(store: TestStore, session = 'telegram:42'): Promise<string[]> {
  const messages = await store.ledger.messages(
    `${session.slice(0, session.indexOf(':'))}:${session.slice(session.indexOf(':') + 1)}`,
    { limit: 200 },
  );
  return messages.map(({ content }) => content);
}
