/** `parley init`: sets up a gateway by questions or flags, and writes `config.json` and `.env` in the home; rerun to edit. */
import { channels as manifests } from '../../../channels/index.ts';
import { checkConfig, type Config, configFile, type Environment, zoneOf } from '../../config.ts';
import { isId } from '../../protocol/access.ts';
import type { ChannelManifest } from '../../protocol/channel.ts';
import { ConfigError, GatewayError } from '../../protocol/errors.ts';
import { isTimeZone } from '../../lib/clock.ts';
import { findingLines } from '../../ops/doctor/report.ts';
import { openModelServers } from '../../providers/index.ts';
import { pullModel } from '../../providers/ollama/models.ts';
import { changeWhole, editedText, lineOf, textOfFile, withVariables } from '../../settings/index.ts';
import { makeHome } from '../../store/index.ts';
import type { Dialog } from './dialog.ts';
import { firstConfig } from './first-config.ts';
import { homeEnvFile } from '../environment.ts';
import { readArguments } from '../arguments.ts';
import { refuseUnknownOptions } from '../command-list.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** Longest wait for a model server or a platform, in milliseconds. */
const ASK_MS = 10_000;
const ATTEMPTS = 3;
/** Where OpenAI-compatible servers listen by default: LM Studio, vLLM, llama-server. */
const USUAL_PLACES = ['http://127.0.0.1:1234/v1', 'http://127.0.0.1:8000/v1', 'http://127.0.0.1:8081/v1'];
const FIRST_MODEL = 'qwen3:4b';

/** What was decided: variables for `.env`, and fields of `config.json` by dotted name. */
interface Decisions {
  variables: Record<string, string>;
  fields: [field: string[], value: unknown][];
}

const optional = manifests.filter(({ needs }) => needs !== 'nothing');

/** The flags: each stands for the answer to one question. Throws `GatewayError('usage')`. */
export function readInitFlags(args: string[]): Record<string, string | boolean | undefined> {
  const names = ['model', 'pull', 'ollama-host', 'openai-base-url', 'time-zone'];
  const flags = [
    ...names,
    ...optional.flatMap(({ name, needs, alsoNeeds = {} }) => [
      ...[needs, ...Object.keys(alsoNeeds)].map(flagOf),
      `${name}-owner`,
    ]),
  ];
  refuseUnknownOptions('init', args, [
    ...flags.map((flag) => ({ names: [`--${flag}`], takesValue: true })),
    { names: ['-y', '--yes'], takesValue: false },
  ]);
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }]));
  const usage = `Expected: init [--yes] ${flags.map((flag) => `[--${flag} VALUE]`).join(' ')}`;
  return readArguments(args, usage, { options: { ...options, yes: { type: 'boolean', short: 'y' } } }).values;
}

/** Asks, checks and writes; returns the closing text. Throws `GatewayError`; nothing is written before all was asked. */
export async function initCommand(
  flags: Record<string, string | boolean | undefined>,
  environment: Environment,
  dialog: Dialog,
): Promise<string> {
  const current = usable(environment);
  const decisions: Decisions = { variables: {}, fields: [] };
  const dialogue: InitDialogue = { flags, environment, dialog, decisions, current };
  dialog.say(`Parley is set up in ${current.home}. Press Enter to keep the value in brackets.`);
  await chooseModel(dialogue);
  for (const manifest of optional) await chooseChannel(dialogue, manifest);
  await chooseTimeZone(dialogue);
  return await write(current.home, environment, decisions);
}

interface InitDialogue {
  flags: Record<string, string | boolean | undefined>;
  environment: Environment;
  dialog: Dialog;
  decisions: Decisions;
  current: Config;
}

/** The answer of a flag, else of the person. */
async function answer(
  { flags, dialog }: InitDialogue,
  flag: string,
  question: string,
  fallback: string,
): Promise<string> {
  const flagValue = flags[flag];
  return typeof flagValue === 'string' ? flagValue : await dialog.ask(question, fallback);
}

async function chooseModel(dialogue: InitDialogue): Promise<void> {
  const { flags, environment, dialog, decisions } = dialogue;
  for (const [flag, name] of [
    ['ollama-host', 'OLLAMA_HOST'],
    ['openai-base-url', 'OPENAI_BASE_URL'],
  ] as const) {
    const flagValue = flags[flag];
    if (typeof flagValue === 'string') decisions.variables[name] = flagValue;
  }
  const server = await findServer({ ...environment, ...decisions.variables });
  if (server === undefined) {
    dialog.say(
      'No model server answers here. Install Ollama from https://ollama.com and run "ollama serve", or name a server:',
    );
    const url = await dialog.ask(
      'Address of an OpenAI-compatible server, such as http://127.0.0.1:8081/v1',
      '',
    );
    if (url !== '') decisions.variables['OPENAI_BASE_URL'] = url;
    if (typeof flags['model'] === 'string') decisions.variables['MODEL'] = flags['model'];
    return;
  }
  Object.assign(decisions.variables, server.variables);
  const { names, address, ollama } = server;
  dialog.say(`${address} has ${names.length === 0 ? 'no model yet' : `these models: ${names.join(', ')}`}.`);
  const pull = flags['pull'];
  const currentModel = environment['MODEL'] ?? names[0] ?? FIRST_MODEL;
  const model =
    typeof pull === 'string'
      ? pull
      : await answer(dialogue, 'model', 'Model (type another name to download it)', currentModel);
  if (
    !names.some((name) => [model, `${model}:latest`].includes(name)) &&
    ollama &&
    (pull === model || flags['yes'] !== true)
  )
    await pullWithProgress(address, model, dialog);
  if (model !== environment['MODEL'] && (names.length > 0 || model !== ''))
    decisions.variables['MODEL'] = model;
}

async function pullWithProgress(baseUrl: string, model: string, dialog: Dialog): Promise<void> {
  dialog.say(`Downloading ${model}…`);
  await pullModel(baseUrl, model, (status, percent) =>
    dialog.progress(percent === undefined ? status : `${status} ${percent} %`),
  );
  dialog.say(`${model} is there.`);
}

interface FoundServer {
  address: string;
  names: readonly string[];
  ollama: boolean;
  /** What names this server, if nothing did before. */
  variables: Record<string, string>;
}

/** The configured server, else one at a usual address. */
async function findServer(environment: Environment): Promise<FoundServer | undefined> {
  const places: Record<string, string>[] = [{}];
  if (environment['OPENAI_BASE_URL'] === undefined)
    places.push(...USUAL_PLACES.map((url) => ({ OPENAI_BASE_URL: url })));
  for (const variables of places) {
    const { provider, usual } = await openModelServers(usable({ ...environment, ...variables }));
    try {
      const names = await provider.models(AbortSignal.timeout(ASK_MS), usual);
      const server = usable({ ...environment, ...variables }).modelServers[0];
      return { address: server?.baseUrl ?? '', names, ollama: server?.kind === 'ollama', variables };
    } catch (error) {
      // No server answers there: the next place may have one, and the caller reports when none has.
      if (!(error instanceof GatewayError)) throw error;
    } finally {
      await provider.close();
    }
  }
  return undefined;
}

async function chooseChannel(dialogue: InitDialogue, manifest: ChannelManifest): Promise<void> {
  const { name, label, needs, alsoNeeds = {}, ids } = manifest;
  const { environment, dialog, decisions, flags } = dialogue;
  const isSet = environment[needs] !== undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const question = isSet
      ? `New ${label} bot token (empty to keep ${needs})`
      : `${label} bot token (empty to skip)`;
    const token = await answer(dialogue, flagOf(needs), question, '');
    if (token === '') break;
    const variables: Record<string, string> = { [needs]: token };
    for (const [variable, asks] of Object.entries(alsoNeeds)) {
      const reply = await answer(dialogue, flagOf(variable), asks, environment[variable] ?? '');
      if (reply !== '') variables[variable] = reply;
    }
    if (await isTaken({ ...environment, ...decisions.variables, ...variables }, name, needs, dialog)) {
      Object.assign(decisions.variables, variables);
      break;
    }
    if (typeof flags[flagOf(needs)] === 'string')
      throw new ConfigError('bad_config', `${needs} cannot be used.`);
  }
  if (ids === undefined || (!isSet && decisions.variables[needs] === undefined)) return;
  const owner = await answer(
    dialogue,
    `${name}-owner`,
    `Your ${label} user id (empty to pair with a code)`,
    '',
  );
  if (owner === '') return;
  if (!isId(owner, ids.userId))
    throw new ConfigError('bad_config', `An owner on ${label} is ${ids.description}.`);
  const owners = dialogue.current.channels.find((channel) => channel.name === name)?.access?.owners ?? [];
  if (!owners.includes(owner))
    decisions.fields.push([
      ['access', 'owners', name],
      [...owners, owner],
    ]);
}

/** Whether the platform accepts the token; says what it finds. */
async function isTaken(
  environment: Environment,
  name: string,
  needs: string,
  dialog: Dialog,
): Promise<boolean> {
  const { config, problems } = checkConfig(environment);
  const channel = config?.channels.find((one) => one.name === name);
  if (channel === undefined) {
    for (const problem of problems.filter(({ text }) => text.startsWith(needs))) dialog.say(lineOf(problem));
    return false;
  }
  const findings = await channel.check({ signal: AbortSignal.timeout(ASK_MS), running: false });
  for (const line of findingLines(findings, { colours: false })) dialog.say(line);
  // What can be corrected later, such as a webhook, is not a reason to refuse the token.
  return findings.every(({ level, fix }) => level !== 'error' || fix !== undefined);
}

async function chooseTimeZone(dialogue: InitDialogue): Promise<void> {
  const { dialog, decisions, flags, current } = dialogue;
  const currentZone = zoneOf(current);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const zone = await answer(dialogue, 'time-zone', 'Time zone', currentZone);
    if (isTimeZone(zone)) {
      if (zone !== current.schedules.timeZone) decisions.fields.push([['schedules', 'timeZone'], zone]);
      return;
    }
    const text = `${zone} is not a time zone; write one such as Europe/Berlin.`;
    if (typeof flags['time-zone'] === 'string') throw new ConfigError('bad_config', text);
    dialog.say(text);
  }
}

/** Writes both files. Nothing is written that would not be valid. */
async function write(
  home: string,
  environment: Environment,
  { variables, fields }: Decisions,
): Promise<string> {
  const [config, env] = [configFile(environment), homeEnvFile(environment)];
  const textAfter = (oldText: string | undefined): string => {
    let text = oldText ?? firstConfig();
    for (const [field, value] of fields) text = editedText(text, field, value);
    const { problems } = checkConfig({ ...environment, ...variables }, { text });
    if (problems.length > 0)
      throw new ConfigError('bad_config', ['Nothing was written:', ...problems.map(lineOf)].join('\n'));
    return text;
  };
  // Before the home exists, so that a refusal leaves nothing behind.
  textAfter(textOfFile(config));
  await makeHome(home);
  const files = [
    changed(config, textAfter),
    changed(env, (oldText) =>
      Object.keys(variables).length === 0 ? oldText : withVariables(oldText, variables),
    ),
  ].filter((file) => file !== undefined);
  const outcome = files.length === 0 ? 'Nothing was changed.' : `Written: ${files.join(', ')}.`;
  return `${outcome}\nStart the gateway with "${PARLEY} start"; "${PARLEY} doctor" checks everything.`;
}

/** Changes a file; its name if that changed its content. */
function changed(
  file: string,
  change: (before: string | undefined) => string | undefined,
): string | undefined {
  return changeWhole(file, (oldText) => {
    const newText = change(oldText);
    return { after: newText, result: newText === oldText ? undefined : file };
  });
}

/** The configuration as it is. Throws `ConfigError` when it cannot be used. */
function usable(environment: Environment): Config {
  const { config, problems } = checkConfig(environment);
  if (config !== undefined) return config;
  throw new ConfigError('bad_config', ['Correct this first:', ...problems.map(lineOf)].join('\n'));
}

function flagOf(variable: string): string {
  return variable.toLowerCase().replaceAll('_', '-');
}
