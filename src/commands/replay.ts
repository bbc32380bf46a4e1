/** `parley replay` and `parley eval`: turns again on other models, beside a running gateway or without one. */
import { readFileSync } from 'node:fs';
import packageFile from '../../package.json' with { type: 'json' };
import { type Config, secretsOf } from '../config.ts';
import { openProfiles } from '../gateway.ts';
import { Modules } from '../modules.ts';
import { openSettings } from '../live-config.ts';
import { oneLine } from '../lib/text.ts';
import { isJsonObject, parseJson } from '../lib/json/json.ts';
import { checkText } from '../ops/evals/checks.ts';
import { evalJson, evalJunit, evalText, hasPassed, marksText, replayText } from '../ops/evals/report.ts';
import {
  EVAL_CONCURRENCY,
  type EvalPlan,
  MAX_EVAL_CONCURRENCY,
  MAX_EVAL_MODELS,
  runEval,
} from '../ops/evals/run-eval.ts';
import { redactor, startLoopMonitor, startTelemetry } from '../ops/index.ts';
import { markTurn, readRecord, reportOf } from '../intake/api/replay-api.ts';
import {
  type EvalCheck,
  evalCheck,
  evalSetName,
  MAX_CHECKS,
  type Replays,
  type TurnRecord,
  USUAL_SET,
} from '../protocol/agent/replays.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { openModelServers } from '../providers/index.ts';
import { writeWhole } from '../settings/index.ts';
import type { HomeStore } from '../store/index.ts';
import { kindsWith, openPluginHosts } from '../plugin-setup.ts';
import { readArguments } from './arguments.ts';

const REPLAY_USAGE = `Expected: replay TURN --model MODEL [--profile PROFILE] [--json]. See: ${PARLEY} replay --help`;
const EVAL_USAGE = `Expected: eval [show [SET] | mark TURN | unmark TURN | SET --models A,B]. See: ${PARLEY} eval --help`;

/** What surrounds a command. */
export interface ReplayTerminal {
  columns: number;
  /** Says how far it is, on standard error. */
  progress: (line: string) => void;
  /** Aborts when the person stops the command. */
  signal: AbortSignal;
  log: Log;
}

/** Runs a parsed command: its text, and false where a check has failed. Throws `GatewayError`. */
export type ReplayAct = (
  store: HomeStore,
  config: Config,
  terminal: ReplayTerminal,
) => Promise<{ text: string; ok: boolean }>;

/** Usage of these commands is nobody's in particular. */
const OPERATOR = { userId: 'system' };

/** The width of a text that no terminal shows, in characters. */
const PIPE_COLUMNS = 120;

/** Runs a command for this process, which says on standard error how far it is, and exits with 1 when a check has failed. */
export function onTerminal(
  run: ReplayAct,
  logOf: (config: Config) => Log,
  endedBySignals: () => AbortController,
): (store: HomeStore, config: Config) => Promise<string> {
  return async (store, config) => {
    const { text, ok } = await run(store, config, {
      columns: process.stdout.columns ?? PIPE_COLUMNS,
      progress: (line) => void process.stderr.write(`${line}\n`),
      signal: endedBySignals().signal,
      log: logOf(config),
    });
    if (!ok) process.exitCode = 1;
    return text;
  };
}

/** Reads the arguments after `replay`. Throws `GatewayError('usage')`. */
export function replayCommand(args: readonly string[]): ReplayAct {
  const options = {
    model: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const { positionals, values } = readArguments(args, REPLAY_USAGE, { options, allowPositionals: true });
  const [turnId, ...more] = positionals;
  const { model, profile: profileId, json } = values;
  if (turnId === undefined || more.length > 0 || (model ?? profileId) === undefined)
    throw new GatewayError('usage', REPLAY_USAGE);
  return async (store, config, terminal) => {
    const record = await recordOf(store, turnId);
    return await withReplays(store, config, terminal, async ({ replays }) => {
      const replay = await replays.run(record, { model, profileId }, OPERATOR, terminal.signal);
      const report = reportOf(replay, config.prices);
      const text = json === true ? JSON.stringify(report, null, 2) : replayText(report, terminal.columns);
      return { text, ok: report.replay.error === undefined };
    });
  };
}

/** Reads the arguments after `eval`. Throws `GatewayError('usage')`. */
export function evalCommand(args: readonly string[]): ReplayAct {
  const options = {
    set: { type: 'string' },
    check: { type: 'string', multiple: true },
    models: { type: 'string' },
    profile: { type: 'string' },
    judge: { type: 'string' },
    json: { type: 'string' },
    junit: { type: 'string' },
    concurrency: { type: 'string' },
    fresh: { type: 'boolean' },
  } as const;
  const { positionals, values } = readArguments(args, EVAL_USAGE, { options, allowPositionals: true });
  const [word, second, ...more] = positionals;
  if (more.length > 0) throw new GatewayError('usage', EVAL_USAGE);
  const checks = (values.check ?? []).map(readCheck);
  if (checks.length > MAX_CHECKS)
    throw new GatewayError('usage', `At most ${MAX_CHECKS} checks; this has ${checks.length}.`);
  if (word === 'mark' || word === 'unmark') {
    if (second === undefined) throw new GatewayError('usage', EVAL_USAGE);
    const set = readSet(values.set ?? USUAL_SET);
    return word === 'mark' ? mark(second, set, checks) : unmark(second, set);
  }
  if (word === undefined || word === 'show') {
    const set = second === undefined ? undefined : readSet(second);
    return async (store) => {
      const marks = await store.replays.marks({ set });
      const none = `No turns are marked. Mark one: ${PARLEY} eval mark TURN`;
      return { text: marks.length === 0 ? none : marksText(marks), ok: true };
    };
  }
  if (second !== undefined || values.models === undefined) throw new GatewayError('usage', EVAL_USAGE);
  const { models, profile, judge, fresh = false, json, junit } = values;
  const plan = { set: readSet(word), models: readModels(models), checks, judge };
  const concurrency = readConcurrency(values.concurrency);
  return evaluate(plan, { profileId: profile, concurrency, fresh, files: { json, junit } });
}

/** Options of a run besides what is evaluated. */
interface RunOptions {
  profileId: string | undefined;
  concurrency: number;
  fresh: boolean;
  files: { json: string | undefined; junit: string | undefined };
}

function evaluate(
  plan: Omit<EvalPlan, 'profile'>,
  { profileId, concurrency, fresh, files }: RunOptions,
): ReplayAct {
  return async (store, config, terminal) =>
    await withReplays(store, config, terminal, async ({ replays, profiles }) => {
      const profile =
        profileId === undefined ? undefined : profiles.list().find(({ id }) => id === profileId);
      if (profileId !== undefined && profile === undefined)
        throw new GatewayError('unknown_profile', `There is no profile ${oneLine(profileId).slice(0, 80)}.`);
      const report = await runEval(
        { ...plan, profile },
        {
          store: store.replays,
          replays,
          report: (replay) => reportOf(replay, config.prices),
          payer: OPERATOR,
          concurrency,
          fresh,
          progress: terminal.progress,
          signal: terminal.signal,
        },
      );
      if (files.json !== undefined) writeWhole(files.json, `${evalJson(report)}\n`);
      if (files.junit !== undefined) writeWhole(files.junit, evalJunit(report));
      return { text: evalText(report), ok: hasPassed(report) };
    });
}

function mark(turnId: string, set: string, checks: readonly EvalCheck[]): ReplayAct {
  return async ({ replays }) => {
    const record = await recordOf({ replays }, turnId);
    const { session, question } = await markTurn(replays, set, record, checks);
    const withChecks = checks.length === 0 ? '' : `, with ${checks.map(checkText).join(', ')}`;
    const text = `Marked ${turnId} of ${session} in the set ${set}${withChecks}: ${oneLine(question)}`;
    return { text, ok: true };
  };
}

function unmark(turnId: string, set: string): ReplayAct {
  return async ({ replays }) => {
    if (await replays.unmark(set, turnId)) return { text: `Unmarked ${turnId}.`, ok: true };
    const text = `The turn ${oneLine(turnId).slice(0, 80)} is not marked in the set ${set}. See: ${PARLEY} eval show`;
    throw new GatewayError('unknown_turn', text);
  };
}

async function recordOf({ replays }: Pick<HomeStore, 'replays'>, turnId: string): Promise<TurnRecord> {
  const record = await readRecord(replays, turnId);
  if (record !== undefined) return record;
  const text = `There is no turn ${oneLine(turnId).slice(0, 80)}. ${PARLEY} trace SESSION names the last turn of a session.`;
  throw new GatewayError('unknown_turn', text);
}

/**
 * Works with the agent of a gateway that is not started: no channel is opened, no message is claimed, no MCP server is
 * asked. Tools of MCP servers are offered as turns had them.
 */
async function withReplays<T>(
  store: HomeStore,
  config: Config,
  { log }: ReplayTerminal,
  work: (parts: { replays: Replays; profiles: Modules['profiles'] }) => Promise<T>,
): Promise<T> {
  const loop = startLoopMonitor();
  const redact = redactor(secretsOf(config));
  const about = { version: packageFile.version, serverOf: () => undefined };
  const telemetry = await startTelemetry(
    { ...config.env, OTEL_EXPORTER_OTLP_ENDPOINT: undefined },
    about,
    log,
  );
  const plugins = openPluginHosts(config, { keys: store.keys, log, redact });
  const kinds = kindsWith(config.plugins, plugins);
  const servers = await openModelServers(config, { kinds, loopDelayMs: () => loop.recentMs() });
  const options = { log, redact };
  const settings = openSettings(config, log);
  const parts = { settings, store, options, log, loop, fanout: undefined, telemetry, servers, plugins };
  const modules = new Modules(parts);
  try {
    await openProfiles(modules);
    return await work({ replays: modules.agent.replays, profiles: modules.profiles });
  } finally {
    await modules.agent.close();
    await modules.profiles.close();
    await modules.provider.close();
    await plugins.close();
    loop.stop();
  }
}

function readSet(name: string): string {
  const set = evalSetName.safeParse(name);
  if (set.success) return set.data;
  throw new GatewayError(
    'usage',
    `${oneLine(name).slice(0, 80)} cannot be a set: ${set.error.issues[0]?.message}.`,
  );
}

function readModels(list: string): string[] {
  const models = [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  if (models.length > 0 && models.length <= MAX_EVAL_MODELS) return models;
  throw new GatewayError(
    'usage',
    `--models names one to ${MAX_EVAL_MODELS} models, with commas between them.`,
  );
}

function readConcurrency(text: string | undefined): number {
  if (text === undefined) return EVAL_CONCURRENCY;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_EVAL_CONCURRENCY) return count;
  throw new GatewayError('usage', `--concurrency is a number from 1 to ${MAX_EVAL_CONCURRENCY}.`);
}

/** Reads `contains=TEXT`, `not-contains=TEXT`, `regex=PATTERN`, `schema=FILE`, `judge=QUESTION`. */
function readCheck(text: string): EvalCheck {
  const at = text.indexOf('=');
  const [type, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  const fields: Record<string, unknown> = {
    contains: { text: value },
    'not-contains': { text: value },
    regex: { pattern: value },
    schema: { schema: type === 'schema' ? readSchema(value) : undefined },
    judge: { question: value },
  };
  const check = evalCheck.safeParse({ type, ...(isJsonObject(fields[type]) && fields[type]) });
  if (check.success) return check.data;
  const problem = Object.hasOwn(fields, type) ? check.error.issues[0]?.message : 'there is no such check';
  throw new GatewayError(
    'usage',
    `--check ${oneLine(text).slice(0, 80)}: ${problem}. Checks are contains=TEXT, not-contains=TEXT, regex=PATTERN, schema=FILE and judge=QUESTION.`,
  );
}

function readSchema(file: string): unknown {
  try {
    const schema = parseJson(readFileSync(file, 'utf8'));
    if (isJsonObject(schema)) return schema;
  } catch (cause) {
    throw new GatewayError('usage', `--check schema=${file}: ${toGatewayError(cause).message}`, { cause });
  }
  throw new GatewayError('usage', `--check schema=${file}: the file is no JSON object.`);
}
