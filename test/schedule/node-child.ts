/** A node with schedules in a separate process, for a test that kills it: it gets no further than a slot's message. */
import type { EventBus } from '../../src/protocol/bus.ts';
import { quietBus } from '../fakes/gateway/quiet-bus.ts';
import { partial } from '../fakes/partial.ts';
import { createSendSystemMessage } from '../../src/intake/index.ts';
import { SCHEDULE_LIMITS } from '../../src/protocol/schedules.ts';
import { createScheduling } from '../../src/schedule/index.ts';
import type { DatabasePlace } from '../../src/store/database/database.ts';
import { openStoreAt } from '../../src/store/store.ts';
import { testLog } from '../fakes/agent/tool-context.ts';
import { FakeSettings } from '../fakes/settings.ts';
import { builtInLanguages } from '../fakes/gateway/languages.ts';

const [given = '{}'] = process.argv.slice(2);
const place: DatabasePlace = JSON.parse(given);
const log = testLog();
const { ledger, schedules } = await openStoreAt(place, { log, migrate: false });
const events = partial<EventBus>({ emit: () => undefined });
const bus = quietBus();
const scheduling = createScheduling({
  store: {
    ...schedules,
    advanceSchedule: () => {
      process.stdout.write('announced\n');
      return new Promise<never>(() => undefined);
    },
  },
  ledger,
  events,
  languages: builtInLanguages,
  sendSystemMessage: createSendSystemMessage(ledger, bus, events),
  creatorAccess: {
    placeOf: async () => 'private',
    isOwner: async () => true,
    isTaken: async () => false,
    isStillAllowed: async () => true,
  },
  settings: new FakeSettings({ limits: SCHEDULE_LIMITS, timeZone: 'UTC' }),
  log,
});
await scheduling.start();
// The test holds the other end: a child must not outlive the test.
process.stdin.on('end', () => process.exit(0)).resume();
