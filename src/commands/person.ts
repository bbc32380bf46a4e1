/** `parley person`: everything of one person, exported or deleted. */
import type { Config } from '../config.ts';
import { endUserKey } from '../../channels/http/inbound.ts';
import { isId, type TokenRecord } from '../protocol/access.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Person, PersonData, PersonRow } from '../protocol/operator/people.ts';
import { proxyTokenOf } from '../protocol/operator/sign-in.ts';
import { transcriptOf } from '../protocol/sessions/session-list.ts';
import { oneLine, withItems } from '../lib/text.ts';
import { deleteSession, transcriptSource } from '../ops/sessions-command.ts';
import type { HomeStore } from '../store/index.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { readArguments } from './arguments.ts';

const PAGE = 500;

const USAGE = `Expected: person export PERSON | person delete PERSON --yes, with PERSON = CHANNEL:ID, token:ID, token:ID:user:NAME or proxy:USER. See: ${PARLEY} person --help`;

/** Runs a parsed command: yields the output in pieces. Throws `GatewayError`. */
export type PersonAct = (store: HomeStore, config: Config) => AsyncGenerator<string>;

/** Reads the arguments after `person`. Throws `GatewayError('usage')`. */
export function personCommand(args: readonly string[]): PersonAct {
  const options = { yes: { type: 'boolean', default: false } } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [action, name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new GatewayError('usage', USAGE);
  if (action !== 'export' && action !== 'delete') throw new GatewayError('usage', USAGE);
  return async function* act(store, config) {
    const person = await personOf(store, config, name);
    if (action === 'export') yield* exported(store, { person, name });
    else yield await remove(store, config, { person, name, yes: values.yes });
  };
}

interface Named {
  person: Person;
  name: string;
}

async function personOf({ access }: HomeStore, config: Config, name: string): Promise<Person> {
  const tokens = await access.tokens();
  const [, user] = /^proxy:(.+)$/s.exec(name) ?? [];
  if (user !== undefined) return personOfToken(tokens, tokenNameOf(config, user));
  const [, id = '', endUser] = /^token:([^:]+)(?::user:(.+))?$/s.exec(name) ?? [];
  if (id === '') return personOfChannel(config, name);
  const person = personOfToken(tokens, id);
  return endUser === undefined ? person : { ...person, endUser: endUserKey(endUser) };
}

function personOfToken(tokens: readonly TokenRecord[], idOrName: string): Person {
  const matches = tokens.filter(({ tokenId, name }) => tokenId === idOrName || name === idOrName);
  const [token] = matches;
  if (token !== undefined && matches.length === 1) return { channel: 'http', id: `token:${token.tokenId}` };
  const problem = matches.length === 0 ? 'There is no token' : `There are ${matches.length} tokens`;
  throw new GatewayError(
    'usage',
    `${problem} ${oneLine(idOrName).slice(0, 80)}: give the ID of one. See: ${PARLEY} token`,
  );
}

/** The token that only this user of the identity proxy has. */
function tokenNameOf({ proxySignIn }: Config, user: string): string {
  const token = proxyTokenOf(proxySignIn, user);
  const who = oneLine(user).slice(0, 80);
  if (token === undefined)
    throw new GatewayError('usage', `proxySignIn in config.json gives ${who} no token.`);
  const others = Object.keys(proxySignIn?.users ?? {}).filter(
    (other) => other !== user && proxyTokenOf(proxySignIn, other) === token,
  );
  if (others.length === 0 && proxySignIn?.default !== token) return token;
  throw new GatewayError(
    'usage',
    `${who} shares the token ${oneLine(token)} with other users of the proxy, and what is stored belongs to the token: give each user their own token in proxySignIn.users, or name the token itself.`,
  );
}

function personOfChannel({ channels }: Config, name: string): Person {
  const at = name.indexOf(':');
  const [channel, id] = [name.slice(0, Math.max(0, at)), name.slice(at + 1)];
  const ids = channels.find((one) => one.name === channel)?.ids;
  if (ids !== undefined && isId(id, ids.userId)) return { channel, id, privateChat: ids.privateChatOf?.(id) };
  const channelNames = channels.flatMap((one) => (one.ids === undefined ? [] : [one.name]));
  const label = oneLine(name).slice(0, 80);
  throw new GatewayError(
    'usage',
    `"${label}" is not a person: expected CHANNEL:ID with the channel ${channelNames.join(' or ')} and the id that it gives people, token:ID or token:ID:user:NAME over HTTP, or proxy:USER. See: ${PARLEY} token`,
  );
}

async function* exported(
  { people, ledger, contexts }: HomeStore,
  { person, name }: Named,
): AsyncGenerator<string> {
  const data = await people.person(person);
  yield `{\n  "person": ${JSON.stringify(name)},\n  "sessions": [`;
  let first = true;
  for (const key of data.sessions) {
    const session = await ledger.session(key);
    if (session === undefined) continue;
    yield first ? '\n' : ',\n';
    first = false;
    yield* transcriptOf(session, transcriptSource(ledger, contexts, key), 'json');
  }
  yield ']';
  const parts: Readonly<Record<PersonRow['kind'], string>> = {
    message: 'messagesInSharedSessions',
    memory: 'memories',
    schedule: 'schedules',
    grant: 'grants',
    file: 'files',
    response: 'responses',
    knowledge: 'documents',
    usage: 'usage',
  };
  for (const [kind, part] of Object.entries(parts)) {
    yield `,\n  "${part}": [`;
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
  for (let offset = 0; ; offset += PAGE) {
    const rows = await people.personRows(person, kind, { after: offset, limit: PAGE });
    for (const [index, { kind: _, ...row }] of rows.entries())
      yield `${offset + index === 0 ? '' : ','}\n    ${JSON.stringify(row)}`;
    if (rows.length < PAGE) return;
  }
}

async function remove(
  store: HomeStore,
  config: Config,
  { person, name: who, yes }: Named & { yes: boolean },
): Promise<string> {
  const data = await store.people.person(person);
  const items = [...goes(data), ...stays(config, person, data)];
  if (!yes) {
    const title = `Nothing was deleted. With --yes this happens to what belongs to ${who}:`;
    throw new GatewayError('not_confirmed', withItems(title, items));
  }
  const { sessions } = data;
  await store.people.forgetPerson(person, { sessions, fileDays: config.media.keepDays });
  for (const key of sessions) await deleteSession(store, key);
  return `${withItems(`Deleted what belonged to ${who}:`, items)}\n`;
}

function goes(data: PersonData): string[] {
  const {
    sessions,
    shared,
    sharedMessages,
    memories,
    schedules,
    grants,
    files,
    documents,
    responses,
    usage,
  } = data;
  return [
    `their own sessions: ${sessions.length === 0 ? 'none' : sessions.map(oneLine).join(', ')}; with messages, plans, schedules and files`,
    `their ${sharedMessages} messages in ${shared.length} sessions with others: the text becomes "(deleted)"`,
    `memories: ${memories}; schedules: ${schedules}; rights and pairing codes: ${grants}; responses of /v1/responses: ${responses}`,
    `documents that were given to their chats: ${documents}`,
    `files they sent: ${files}; a running gateway removes them within the hour`,
    `rows of usage: ${usage}; they stay, without a name`,
  ];
}

/** What the command does not touch, and who does. */
function stays(config: Config, { channel, id, endUser }: Person, { shared }: PersonData): string[] {
  const access = config.channels.find(({ name }) => name === channel)?.access;
  const listed = access !== undefined && [...access.allow, ...access.owners].includes(id);
  return [
    ...(listed ? [`config.json still names them in access: remove them there`] : []),
    ...(shared.length > 0
      ? [
          'answers to them in sessions with others stay, and so do quotes and group messages that named no one',
        ]
      : []),
    ...(channel === 'http' && endUser === undefined
      ? [`the token itself stays, and its sign-ins end: revoke it with ${PARLEY} token revoke ID`]
      : []),
    'the log and backups stay until they are replaced',
  ];
}
