/** `parley person`: everything of one person, exported or deleted. */
import { parseArgs } from 'node:util';
import type { Config } from '../config.ts';
import { isId } from '../contracts/access.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { Person, PersonData, PersonRow } from '../contracts/operator/people.ts';
import { transcriptOf } from '../contracts/sessions/transcript.ts';
import { oneLine } from '../lib/text.ts';
import { deleteSession } from '../ops/sessions-command.ts';
import type { HomeStore } from '../store/open-store.ts';
import { PARLEY } from '../contracts/texts/parley.ts';

/** Rows that are read at a time. */
const PAGE = 500;

const USAGE = `Expected: person export CHANNEL:ID | person delete CHANNEL:ID --yes. See: ${PARLEY} person --help`;

/** What runs a command that was read: gives the output in pieces. Throws `GatewayError`. */
export type PersonAct = (store: HomeStore, config: Config) => AsyncGenerator<string>;

/** Reads the arguments behind `person`. Throws `GatewayError('usage')`. */
export function personCommand(args: readonly string[]): PersonAct {
  const { words, yes } = read(args);
  const [action, name, ...more] = words;
  if (name === undefined || more.length > 0) throw new GatewayError('usage', USAGE);
  if (action === 'export') return (store, config) => exported(store, personOf(config, name));
  if (action !== 'delete') throw new GatewayError('usage', USAGE);
  return async function* removed(store, config) {
    yield await remove(store, config, { person: personOf(config, name), yes });
  };
}

function read(args: readonly string[]): { words: string[]; yes: boolean } {
  try {
    const options = { yes: { type: 'boolean', default: false } } as const;
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { words: positionals, yes: values.yes };
  } catch (cause) {
    throw new GatewayError('usage', USAGE, { cause });
  }
}

function personOf({ channels }: Config, name: string): Person {
  const at = name.indexOf(':');
  const [channel, id] = [name.slice(0, Math.max(0, at)), name.slice(at + 1)];
  const ids = channels.find((one) => one.name === channel)?.ids;
  if (ids !== undefined && isId(id, ids.userId)) return { channel, id, privateChat: ids.privateChatOf?.(id) };
  const known = channels.flatMap((one) => (one.ids === undefined ? [] : [one.name]));
  const what = oneLine(name).slice(0, 80);
  throw new GatewayError(
    'usage',
    `"${what}" is no person: expected CHANNEL:ID with the channel ${known.join(' or ')} and the id that it gives people. What HTTP clients stored belongs to tokens: see ${PARLEY} sessions.`,
  );
}

async function* exported({ people, ledger }: HomeStore, person: Person): AsyncGenerator<string> {
  const data = await people.person(person);
  yield `{\n  "person": ${JSON.stringify(`${person.channel}:${person.id}`)},\n  "sessions": [`;
  let first = true;
  for (const key of data.sessions) {
    const session = await ledger.session(key);
    if (session === undefined) continue;
    yield first ? '\n' : ',\n';
    first = false;
    yield* transcriptOf(session, (page) => ledger.messages(key, page), 'json');
  }
  yield ']';
  const parts: Readonly<Record<PersonRow['kind'], string>> = {
    message: 'messagesInSharedSessions',
    memory: 'memories',
    schedule: 'schedules',
    grant: 'grants',
    file: 'files',
    usage: 'usage',
  };
  for (const [kind, name] of Object.entries(parts)) {
    yield `,\n  "${name}": [`;
    yield* rowsOf(people, person, kind as PersonRow['kind']);
    yield ']';
  }
  yield '\n}\n';
}

async function* rowsOf(
  people: HomeStore['people'],
  person: Person,
  kind: PersonRow['kind'],
): AsyncGenerator<string> {
  for (let after = 0; ; after += PAGE) {
    const rows = await people.personRows(person, kind, { after, limit: PAGE });
    for (const [index, { kind: _, ...row }] of rows.entries())
      yield `${after + index === 0 ? '' : ','}\n    ${JSON.stringify(row)}`;
    if (rows.length < PAGE) return;
  }
}

async function remove(
  store: HomeStore,
  config: Config,
  { person, yes }: { person: Person; yes: boolean },
): Promise<string> {
  const data = await store.people.person(person);
  const who = `${person.channel}:${person.id}`;
  const list = [...goes(data), ...stays(config, person, data)].map((line) => `  - ${line}`).join('\n');
  if (!yes) {
    throw new GatewayError(
      'not_confirmed',
      `Nothing was deleted. With --yes this happens to what belongs to ${who}:\n${list}`,
    );
  }
  const { sessions } = data;
  await store.people.forgetPerson(person, { sessions, fileDays: config.media.keepDays });
  for (const key of sessions) await deleteSession(store, key);
  return `Deleted what belonged to ${who}:\n${list}\n`;
}

function goes(data: PersonData): string[] {
  const { sessions, shared, sharedMessages, memories, schedules, grants, files, usage } = data;
  return [
    `sessions of their own: ${sessions.length === 0 ? 'none' : sessions.map(oneLine).join(', ')}; with messages, plans, schedules and files`,
    `their ${sharedMessages} messages in ${shared.length} sessions with others: the text becomes "(deleted)"`,
    `memories: ${memories}; schedules: ${schedules}; rights and pairing codes: ${grants}`,
    `files they sent: ${files}; a gateway that runs removes them within the hour`,
    `rows of usage: ${usage}; they stay, without a name`,
  ];
}

/** What the command does not touch, and who does. */
function stays(config: Config, { channel, id }: Person, { shared }: PersonData): string[] {
  const access = config.channels.find(({ name }) => name === channel)?.access;
  const listed = access !== undefined && [...access.allow, ...access.owners].includes(id);
  return [
    ...(listed ? [`config.json still names them in access: take them out there`] : []),
    ...(shared.length > 0
      ? [
          'answers to them in sessions with others stay, and so do quotes and group messages that named nobody',
        ]
      : []),
    'the log and backups stay until they are replaced',
  ];
}
