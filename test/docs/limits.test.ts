/** The numbers that the pages promise, compared with the constants that hold them. */
import { describe, expect, it } from 'vitest';
import {
  MAX_BODY_BYTES,
  MAX_JSON_DEPTH,
  MAX_MEDIA,
  MAX_STREAM_LAG_MS,
  MAX_STREAMS,
} from '../../channels/http/config.ts';
import { HISTORY_ROWS } from '../../src/agent/deps.ts';
import { MAX_RETRIES_PER_STEP } from '../../src/agent/executor/apply-correction.ts';
import { MAX_NEW_STEPS } from '../../src/agent/executor/correction-reply.ts';
import { MAX_ADDED_STEPS } from '../../src/agent/executor/edits.ts';
import { MAX_BOOTSTRAP_BYTES, MAX_SKILLS } from '../../src/agent/prompt/bootstrap-files.ts';
import { MAX_ATTEMPTS, MAX_CRASHES } from '../../src/bus/attempt.ts';
import { FLAGS_MS, HEARTBEAT_MS, LEASE_MS, SWEEP_MS } from '../../src/bus/message-bus.ts';
import { BATCH_EVERY_MS } from '../../src/bus/node-link.ts';
import { RING_BYTES, RING_EVENTS } from '../../src/contracts/bus.ts';
import { MAX_PENDING } from '../../src/contracts/ledger.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_NOTE_CHARS,
  MAX_NOTES,
  MAX_TODOS,
} from '../../src/contracts/notes.ts';
import { MAX_CORRECTIONS, MAX_PLAN_STEPS } from '../../src/contracts/plan.ts';
import { MAX_SCHEDULES, MAX_SYSTEM_SCHEDULES } from '../../src/contracts/schedules.ts';
import {
  BACKGROUND_SUBAGENT_MS,
  MAX_SUBAGENTS_PER_TURN,
  SUBAGENT_MS,
  SUBAGENT_TOKENS,
} from '../../src/contracts/subagents.ts';
import { MAX_MESSAGE_LENGTH } from '../../src/intake/receive.ts';
import { BURST, MESSAGES_PER_MINUTE } from '../../src/intake/rate-limiter.ts';
import { MAX_PROCESSES, MAX_SANDBOX_FILE_BYTES } from '../../src/tools/exec/sandbox-command.ts';
import { MAX_FILE_BYTES, MAX_WORKSPACE_BYTES } from '../../src/tools/files/save-file.ts';
import { readText } from './pages.ts';

const n = (value: number): string => value.toLocaleString('en');
const seconds = (ms: number): string => String(ms / 1_000);
const minutes = (ms: number): string => String(ms / 60_000);
const kib = (bytes: number): string => `${bytes / 1_024} KiB`;
const mib = (bytes: number): string => `${bytes / 1_048_576} MiB`;

const SENDERS = `${MESSAGES_PER_MINUTE} messages per minute (${BURST} at once) per Telegram or Discord sender`;
const QUEUE = `${MAX_PENDING} messages waiting per session, ${n(MAX_MESSAGE_LENGTH)} characters per message`;
const SCHEDULES = `${MAX_SCHEDULES} schedules per session and ${n(MAX_SYSTEM_SCHEDULES)} in all`;

/** What each page says, with the numbers of the code. */
const PROMISES: Readonly<Record<string, readonly string[]>> = {
  'docs/chatting.md': [
    `${QUEUE}, ${SENDERS}`,
    `keeps ${MAX_MEMORIES} facts of up to ${n(MAX_MEMORY_CHARS)} characters`,
    `out of the ${HISTORY_ROWS} that are sent`,
  ],
  'docs/operating.md': [
    `${QUEUE}, ${SENDERS}`,
    `request bodies of ${mib(MAX_BODY_BYTES)}, ${n(MAX_STREAMS)} open HTTP streams, ${SCHEDULES}`,
    `failed ${MAX_ATTEMPTS} times, or on which the gateway crashed ${MAX_CRASHES} times`,
    `after about ${seconds(LEASE_MS)} seconds, the time of its lease`,
  ],
  'docs/http-api.md': [
    `bodies of ${mib(MAX_BODY_BYTES)} and ${MAX_JSON_DEPTH} levels of nesting, ${n(MAX_STREAMS)} open streams, ${MAX_MEDIA} files`,
    `takes nothing for ${seconds(MAX_STREAM_LAG_MS)} seconds is closed`,
    `The last ${n(RING_EVENTS)} events (or ${kib(RING_BYTES)}) of a turn`,
  ],
  'docs/architecture.md': [
    `with a lease of ${seconds(LEASE_MS)} s, renews it every ${seconds(HEARTBEAT_MS)} s`,
    `a sweep every ${seconds(SWEEP_MS)} s`,
    `backoff, at most ${MAX_ATTEMPTS}; claims whose node died count separately, at most ${MAX_CRASHES}`,
    `the marks of its running lanes every ${FLAGS_MS} ms`,
    `batches every ${BATCH_EVERY_MS} ms. A turn's last ${n(RING_EVENTS)} events (at most ${kib(RING_BYTES)})`,
  ],
  'docs/profiles-and-planning.md': [
    `${n(MAX_BOOTSTRAP_BYTES)} bytes of each`,
    `names and descriptions (${MAX_SKILLS} at most)`,
    `at most ${MAX_PLAN_STEPS} numbered steps`,
    `inserts up to ${MAX_NEW_STEPS} steps`,
    `At most ${MAX_RETRIES_PER_STEP} retries per step, ${MAX_CORRECTIONS} corrections and ${MAX_ADDED_STEPS} added steps`,
    `${n(SUBAGENT_TOKENS)} tokens, and ${minutes(SUBAGENT_MS)} minutes (${minutes(BACKGROUND_SUBAGENT_MS)} in the background)`,
    `a turn makes ${MAX_SUBAGENTS_PER_TURN} at most`,
  ],
  'docs/schedules.md': [SCHEDULES],
  'docs/tools.md': [
    `a file of up to ${mib(MAX_FILE_BYTES)}; a workspace holds ${mib(MAX_WORKSPACE_BYTES)}`,
    `${MAX_PROCESSES} processes and files of ${mib(MAX_SANDBOX_FILE_BYTES)}`,
    `todo list, ${MAX_TODOS} items`,
    `notes, ${MAX_NOTES} of ${n(MAX_NOTE_CHARS)} characters`,
  ],
  'README.md': [`after about ${seconds(LEASE_MS)} seconds`],
};

describe.each(Object.entries(PROMISES))('the numbers on %s', (page, promises) => {
  const text = readText(page).replaceAll(/\s+/g, ' ');

  it.each(promises)('are those of the code: %s', (promise) => {
    expect(text).toContain(promise);
  });
});
