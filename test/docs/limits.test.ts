/** The numbers that the pages promise, compared with the constants that hold them. */
import { describe, expect, it } from 'vitest';
import {
  MAX_BODY_BYTES,
  MAX_CONNECTIONS,
  MAX_EMBEDDED_TEXTS,
  MAX_INLINE_BODY_BYTES,
  MAX_INLINE_FILES,
  MAX_INSTRUCTIONS,
  MAX_JSON_VALUES,
  MAX_LARGE_BODIES,
  MAX_MESSAGES,
  MAX_LOGIT_BIASES,
  MAX_STREAM_LAG_MS,
  MAX_STOPS,
  MAX_STRANGERS,
  MAX_STREAMS,
  MIN_STRANGER_BYTES_PER_S,
  RESERVED_CONNECTIONS,
  MAX_TOOLS,
  MAX_UPLOADS_PER_TOKEN,
  RESERVED_STREAMS,
  STRANGER_BODY_MS,
  UPLOAD_STALL_MS,
  UPLOAD_TIMEOUT_MS,
  WRONG_TOKENS_PER_MINUTE,
} from '../../channels/http/config.ts';
import { MAX_RESULT_CHARS } from '../../channels/http/mcp/routes.ts';
import { USUAL_WAIT_S } from '../../channels/http/mcp/turns.ts';
import { manifest } from '../../channels/http/manifest.ts';
import { MAX_END_USER } from '../../channels/http/inbound.ts';
import { HISTORY_ROWS } from '../../src/protocol/store/accept.ts';
import { MAX_RETRIES_PER_STEP } from '../../src/agent/plans/plan-executor.ts';
import { MAX_NEW_STEPS } from '../../src/agent/plans/correction.ts';
import { MAX_ADDED_STEPS } from '../../src/protocol/agent/plan-edits.ts';
import { MAX_UNASKED_READS } from '../../src/agent/tools/unasked-reads.ts';
import { MAX_BOOTSTRAP_BYTES } from '../../src/agent/prompt/bootstrap-files.ts';
import { SKILL_TOKENS } from '../../src/agent/prompt/system-prompt.ts';
import { MAX_SKILL_DESCRIPTION_CHARS, MAX_SKILLS } from '../../src/lib/markdown/skill-file.ts';
import { MAX_SKILL_BYTES, MAX_SKILL_FILES } from '../../src/skills/read-folder.ts';
import { MAX_ATTEMPTS, MAX_LONE_CRASHES, STORE_PAUSES_MS } from '../../src/bus/attempt.ts';
import { FLAGS_MS, HEARTBEAT_MS, LEASE_MS, SWEEP_MS } from '../../src/bus/message-bus.ts';
import { BATCH_EVERY_MS } from '../../src/bus/node-link.ts';
import { MAX_JSON_DEPTH } from '../../src/lib/json/json.ts';
import { MAX_MCP_TOOLS } from '../../src/mcp/index.ts';
import { MAX_PROMPT_CHARS } from '../../src/mcp/prompt-command.ts';
import { MAX_RESOURCES_SHOWN } from '../../src/mcp/resource-tools.ts';
import { FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from '../../src/mcp/server.ts';
import {
  MAX_DESCRIPTION_CHARS,
  MAX_SCHEMA_BYTES,
  MAX_SERVER_TOOLS,
  MAX_TOOL_NAME_CHARS,
} from '../../src/mcp/server-tools.ts';
import { MAX_LINES, MAX_MESSAGE_BYTES } from '../../src/mcp/stdio-transport.ts';
import { MAX_SERVICE_BYTES } from '../../src/security/service-fetch.ts';
import {
  MAX_WAITING_QUESTIONS,
  MAX_ASKED_CHARS,
  MAX_NAMED_FILES,
  MAX_SHOWN_FILE,
} from '../../src/protocol/agent/approvals.ts';
import { RING_BYTES, RING_EVENTS } from '../../src/protocol/bus.ts';
import {
  SUSPECT_ALONE_MAX_MS,
  SUSPECT_ALONE_MS,
  SUSPECT_CRASHES,
  SUSPECT_SHARE,
} from '../../src/protocol/store/lanes.ts';
import { MAX_PENDING } from '../../src/protocol/store/ledger.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_NOTE_CHARS,
  MAX_NOTES,
  MAX_TODOS,
  MAX_UNVERIFIED_MEMORIES,
  MAX_UNVERIFIED_PER_TURN,
} from '../../src/protocol/store/notes.ts';
import { MAX_CORRECTIONS, MAX_PLAN_STEPS } from '../../src/protocol/agent/plan.ts';
import { MAX_FORKED_TURNS } from '../../src/protocol/sessions/conversation-api.ts';
import { MAX_TRIES } from '../../src/protocol/store/records.ts';
import { SCHEDULE_LIMITS } from '../../src/protocol/schedules.ts';
import {
  BACKGROUND_SUBAGENT_MS,
  MAX_SUBAGENTS_PER_TURN,
  SUBAGENT_MS,
  SUBAGENT_TOKENS,
} from '../../src/protocol/agent/subagents.ts';
import { MAX_SHARED_BYTES } from '../../src/protocol/agent/tool.ts';
import { FIRST_AFTER_MS, RESERVE_BYTES } from '../../src/ops/daily-backups.ts';
import { MAX_MESSAGE_LENGTH } from '../../src/intake/receive.ts';
import {
  MAX_UNDO_BYTES,
  MAX_UNDO_CALL_BYTES,
  MAX_UNDO_FILE_BYTES,
  MAX_UNDO_FILES,
  UNDO_DAYS,
} from '../../src/protocol/sessions/undo.ts';
import { MESSAGE_RATE } from '../../src/intake/limits.ts';
import { MAX_SANDBOX_FILE_BYTES, MAX_SHARED_MEMORY_BYTES } from '../../src/tools/exec/sandbox-run.ts';
import { MAX_PROCESSES } from '../../src/tools/exec/sandbox-group.ts';
import { RUN_LIMITS } from '../../src/tools/exec/sandbox-watch.ts';
import {
  MAX_FILE_BYTES,
  MAX_WORKSPACE_BYTES,
  MAX_WORKSPACE_ENTRIES,
} from '../../src/tools/files/save-file.ts';
import { readText } from './pages.ts';

const n = (value: number): string => value.toLocaleString('en');
const seconds = (ms: number): string => String(ms / 1_000);
const minutes = (ms: number): string => String(ms / 60_000);
const kib = (bytes: number): string => `${bytes / 1_024} KiB`;
const mib = (bytes: number): string => `${bytes / 1_048_576} MiB`;

/** The default limits of one address or token. */
const HTTP = manifest.settings.parse({}).limits;
const SENDERS = `${MESSAGE_RATE.messagesPerMinute} messages per minute (${MESSAGE_RATE.messagesAtOnce} at once) per Telegram or Discord sender`;
const QUEUE = `${MAX_PENDING} messages waiting per session, ${n(MAX_MESSAGE_LENGTH)} characters per message`;
const SCHEDULES = `${SCHEDULE_LIMITS.perSession} schedules per session, ${SCHEDULE_LIMITS.perUser} per person and ${n(SCHEDULE_LIMITS.total)} in all`;

/** What each page says, with the numbers from the code. */
const PROMISES: Readonly<Record<string, readonly string[]>> = {
  'docs/chatting.md': [
    `${QUEUE}, ${SENDERS}`,
    `keeps ${MAX_MEMORIES} facts of up to ${n(MAX_MEMORY_CHARS)} characters`,
    `there are ${MAX_UNVERIFIED_MEMORIES} unverified ones, which drop only each other, and a turn adds at most ${MAX_UNVERIFIED_PER_TURN}`,
    `out of the ${HISTORY_ROWS} that are sent`,
    `of a file larger than ${mib(MAX_UNDO_FILE_BYTES)} the earlier content is not kept, nor of more than ${MAX_UNDO_FILES} files or ${mib(MAX_UNDO_CALL_BYTES)} that one call`,
    `take up to ${mib(MAX_UNDO_BYTES)} and are kept for ${UNDO_DAYS} days`,
    `arguments are longer than ${n(MAX_ASKED_CHARS)} characters is refused`,
    `up to ${n(MAX_SHOWN_FILE)} characters with their text; a call may name ${MAX_NAMED_FILES} of them`,
  ],
  'docs/operating.md': [
    `${QUEUE}, ${SENDERS}`,
    `request bodies of ${mib(MAX_BODY_BYTES)}, ${n(MAX_STREAMS)} open HTTP streams, and three pending`,
    `\`config.json\` sets: ${SCHEDULES}`,
    `Files of more than ${mib(MAX_SHARED_BYTES)}, which`,
    `failed ${MAX_ATTEMPTS} times, or on which alone the gateway crashed ${MAX_LONE_CRASHES} times`,
    `until the pauses after them add up to ${minutes(STORE_PAUSES_MS)} minutes`,
    `running during ${SUSPECT_CRASHES} crashes is suspected, and then runs one at a time (of many, one in ${SUSPECT_SHARE}`,
    `comes ${minutes(FIRST_AFTER_MS)} minutes after the start`,
    `leave less than ${mib(RESERVE_BYTES)} of the disk free`,
    `after about ${seconds(LEASE_MS)} seconds, the time of its lease`,
  ],
  'docs/troubleshooting.md': [
    `${n(HTTP.socketsPerAddress)} connections; the oldest close, whatever they are doing. ${MAX_STRANGERS} of its requests may be arriving`,
    `has ${seconds(STRANGER_BODY_MS)} seconds, and at least ${kib(MIN_STRANGER_BYTES_PER_S)} of it must arrive each second`,
    `${n(HTTP.streamsPerToken)} open streams, turns in ${n(HTTP.turnsPerToken)} sessions at a time, ${n(HTTP.sessionsPerToken)} sessions, ${n(HTTP.messagesPerMinute)} messages a minute, ${n(HTTP.socketsPerToken)} connections`,
    `${RESERVED_STREAMS} streams, ${n(RESERVED_CONNECTIONS)} of ${n(MAX_CONNECTIONS)} connections and an eighth of`,
    `from the ${WRONG_TOKENS_PER_MINUTE + 1}st in a minute on`,
  ],
  'docs/http-api.md': [
    `${n(MAX_MESSAGES)} messages or items, ${MAX_TOOLS} tools, ${MAX_STOPS} \`stop\` texts and ${n(MAX_LOGIT_BIASES)} \`logit_bias\` tokens per request`,
    `${n(MAX_INSTRUCTIONS)} characters of system text in a session and in each tool result, ${n(MAX_EMBEDDED_TEXTS)} texts for vectors`,
    `bodies of ${mib(MAX_BODY_BYTES)} (${mib(MAX_INLINE_BODY_BYTES)} where messages may carry files; of these, ${MAX_LARGE_BODIES} at a time, else 503), ${MAX_JSON_DEPTH} levels of nesting and ${n(MAX_JSON_VALUES)} values, ${n(MAX_STREAMS)} open streams`,
    `reads nothing for ${seconds(MAX_STREAM_LAG_MS)} seconds is closed`,
    `1 to ${MAX_END_USER} characters of any kind`,
    `silent for ${seconds(UPLOAD_STALL_MS)} seconds, or the file took longer than ${minutes(UPLOAD_TIMEOUT_MS)} minutes`,
    `kept nowhere, at most ${MAX_INLINE_FILES} in a request`,
    `at most ${MAX_TRIES} answers belong to one question`,
    `At most the newest ${n(MAX_FORKED_TURNS)} turns are copied`,
    `the token sends ${MAX_UPLOADS_PER_TOKEN} files at this moment`,
    `The last ${n(RING_EVENTS)} events (or ${kib(RING_BYTES)}) of a turn`,
  ],
  'docs/architecture.md': [
    `with a lease of ${seconds(LEASE_MS)} s, renews it every ${seconds(HEARTBEAT_MS)} s`,
    `a sweep every ${seconds(SWEEP_MS)} s`,
    `with backoff, at most ${MAX_ATTEMPTS}.`,
    `the pauses after such failures add up to ${minutes(STORE_PAUSES_MS)} minutes`,
    `worked on at ${SUSPECT_CRASHES} deaths is a **suspect**`,
    `one in ${SUSPECT_SHARE}, at least one`,
    `has run them for ${SUSPECT_ALONE_MS} ms unharmed (twice as long with each further death, at most ${seconds(SUSPECT_ALONE_MAX_MS)} s)`,
    `dies ${MAX_LONE_CRASHES} times as the only suspect`,
    `the marks of its running lanes every ${FLAGS_MS} ms`,
    `batches every ${BATCH_EVERY_MS} ms. A turn's last ${n(RING_EVENTS)} events (at most ${kib(RING_BYTES)})`,
  ],
  'docs/profiles-and-planning.md': [
    `${n(MAX_BOOTSTRAP_BYTES)} bytes of each`,
    `the whole ${n(MAX_SKILL_DESCRIPTION_CHARS)} characters of the format where there is room: the list takes at most ${n(SKILL_TOKENS)} tokens`,
    `at most ${MAX_SKILLS} skills, each of at most ${MAX_SKILL_FILES} files and ${mib(MAX_SKILL_BYTES)} in total`,
    `at most ${MAX_PLAN_STEPS} numbered steps`,
    `inserts up to ${MAX_NEW_STEPS} steps`,
    `At most ${MAX_RETRIES_PER_STEP} retries per step, ${MAX_CORRECTIONS} corrections and ${MAX_ADDED_STEPS} added steps`,
    `${n(SUBAGENT_TOKENS)} tokens, and ${minutes(SUBAGENT_MS)} minutes (${minutes(BACKGROUND_SUBAGENT_MS)} in the background)`,
    `a turn makes ${MAX_SUBAGENTS_PER_TURN} at most`,
  ],
  'docs/schedules.md': [SCHEDULES],
  'docs/mcp.md': [
    `a name of more than ${MAX_TOOL_NAME_CHARS} characters`,
    `A server may have ${MAX_SERVER_TOOLS} tools, all servers together ${MAX_MCP_TOOLS}. A description is cut at ${n(MAX_DESCRIPTION_CHARS)} characters. A tool whose schema is longer than ${kib(MAX_SCHEMA_BYTES)}`,
    `at most ${MAX_LINES} lines in a minute`,
    `of one server, ${MAX_RESOURCES_SHOWN} at most)`,
    `(${n(MAX_PROMPT_CHARS)} characters at most)`,
    `A message may have ${mib(MAX_MESSAGE_BYTES)}.`,
    `an answer over HTTP, or one event of a stream, ${mib(MAX_SERVICE_BYTES)}`,
    `pauses of ${seconds(FIRST_PAUSE_MS)} second to ${minutes(LONGEST_PAUSE_MS)} minutes`,
    `A result has ${n(MAX_RESULT_CHARS)} characters at most.`,
    `at most ${MAX_WAITING_QUESTIONS} questions wait for them`,
    `A call waits ${USUAL_WAIT_S} seconds, or \`waitSeconds\` (a day at most)`,
  ],
  'docs/tools.md': [
    `a file of up to ${mib(MAX_FILE_BYTES)}; a workspace holds ${mib(MAX_WORKSPACE_BYTES)}`,
    `use ${RUN_LIMITS.memoryBytes / 1_073_741_824} GiB of memory together with all it starts, ${MAX_PROCESSES} processes`,
    `files of ${mib(MAX_SANDBOX_FILE_BYTES)}, ${mib(MAX_SANDBOX_FILE_BYTES)} of \`/tmp\` and ${mib(MAX_SHARED_MEMORY_BYTES)} of \`/dev/shm\``,
    `grow to ${mib(MAX_WORKSPACE_BYTES)} and ${n(MAX_WORKSPACE_ENTRIES)} files and folders`,
    `the disk has less than ${mib(RUN_LIMITS.freeDiskBytes)} left`,
    `todo list, ${MAX_TODOS} items`,
    `notes, ${MAX_NOTES} of ${n(MAX_NOTE_CHARS)} characters`,
    `after ${MAX_UNASKED_READS} reads of a turn`,
  ],
  'README.md': [`after about ${seconds(LEASE_MS)} seconds`],
};

describe.each(Object.entries(PROMISES))('the numbers on %s', (page, promises) => {
  const text = readText(page).replaceAll(/\s+/g, ' ');

  it.each(promises)('match the code: %s', (promise) => {
    expect(text).toContain(promise);
  });
});
