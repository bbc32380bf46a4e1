/** A program asks a person through the gateway, as the tool `ask` does for a model: the same people, the same consents, asked once. */
import type { Caller } from '../../protocol/access.ts';
import {
  ASK_TOOL,
  MAX_WAITING_QUESTIONS,
  NO_QUESTIONS,
  type PersonQuestion,
} from '../../protocol/agent/approvals.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { AskedPerson, GatewayApi } from '../../protocol/gateway-api.ts';
import {
  type Address,
  addressOf,
  type InboundMessage,
  parseAddress,
  userIdOf,
} from '../../protocol/message.ts';
import type { Receipt } from '../../protocol/receive.ts';
import { type TextRef, textRef } from '../../protocol/texts/say.ts';
import type { MessageRecord } from '../../protocol/store/records.ts';
import type { Surface } from '../../protocol/sessions/surfaces.ts';
import { waitAtMost } from '../../lib/async/sleep.ts';
import { KeyedLock } from '../../lib/async/keyed-lock.ts';
import type { IntakeContext } from '../context.ts';
import { isAdmin, type Visible } from '../sessions.ts';
import { networkOf, whereOf } from '../surfaces/surface-text.ts';
import { isWaiting } from '../surfaces/next-answer.ts';

/** How long the next question to the same person waits until this one is counted among theirs, in milliseconds. */
const ASKED_WITHIN_MS = 5_000;

/** Who can be asked, and who owns the bot. */
export interface QuestionParts {
  /** The gateway's own tools: `ask` decides who may be asked. */
  tools: readonly Tool[];
  /** The private chats of owners. Throws only `StoreError`. */
  ownerChats: () => Promise<Address[]>;
}

/** Makes it. Methods throw only `GatewayError`. */
export function createQuestionApi(
  context: IntakeContext,
  parts: QuestionParts,
  visible: Visible,
): Pick<GatewayApi, 'askPerson'> {
  const { approvals, ledger, store } = context;
  const people = new KeyedLock();
  return {
    async askPerson(caller, message, request, send) {
      // A repeat gets the turn of the first time, whatever has happened to the person since, and however long ago it was.
      const key = addressOf(message);
      const [first] = (await visible(caller, key)) ? await ledger.messages(key, { limit: 1, before: 2 }) : [];
      if (first !== undefined) return repeatOf(first, message);
      const person =
        request.session === undefined
          ? await anyone(context, parts, caller, message, request)
          : await sharing(context, visible, caller, request);
      if ((await store.chatSettings.chatSetting(person.userId, NO_QUESTIONS)) !== undefined)
        throw notAsked(textRef('ask.wants_none'));
      const asker = caller.proxyUser ?? caller.name ?? 'the HTTP API';
      const question: PersonQuestion = { ...person, text: request.question, asker };
      return await people.run(person.userId, new AbortController().signal, async () => {
        if (await ledger.wasAccepted(message)) return await send(undefined);
        const open = (await approvals.questions({ userId: person.userId })).filter(isWaiting);
        if (open.length >= MAX_WAITING_QUESTIONS) throw tooMany();
        const isAsked = whenAsked(context, addressOf(message));
        try {
          const receipt = await send(question);
          if (receipt.kind === 'accepted') await waitAtMost(ASKED_WITHIN_MS, isAsked.promise);
          return receipt;
        } finally {
          isAsked.close();
        }
      });
    },
  };
}

function repeatOf({ turnId, seq, content }: MessageRecord, message: InboundMessage): Receipt {
  return { kind: 'duplicate', turnId, seq, ...(content !== message.content && { differs: true }) };
}

type Person = Pick<PersonQuestion, 'address' | 'userId' | 'label'>;

/** Whom the tool `ask` reaches for an owner; without a name the one owner of the bot. */
async function anyone(
  { languages }: IntakeContext,
  { tools, ownerChats }: QuestionParts,
  caller: Caller,
  message: InboundMessage,
  { to, question }: AskedPerson,
): Promise<Person> {
  const ask = tools.find(({ name }) => name === ASK_TOOL);
  if (ask?.question === undefined) throw new TypeError(`there is no tool "${ASK_TOOL}"`);
  const address = addressOf(message);
  const person = await ask.question(
    { to: to ?? (await onlyOwner(ownerChats)), question },
    {
      sessionKey: address,
      address,
      userId: userIdOf(message),
      userRole: isAdmin(caller) ? 'owner' : 'user',
      place: 'private',
    },
  );
  return { address: person.address, userId: person.userId, label: languages.say(message).text(person.label) };
}

async function onlyOwner(ownerChats: QuestionParts['ownerChats']): Promise<Address> {
  const [only, ...more] = await ownerChats();
  if (only === undefined) throw notAsked(textRef('ask.no_owner'));
  if (more.length > 0) throw notAsked(textRef('ask.several_owners', { names: [only, ...more].join(', ') }));
  return only;
}

/** The person whose private chat shares a session of the caller. */
async function sharing(
  { store, linking: { labelOf }, languages }: IntakeContext,
  visible: Visible,
  caller: Caller,
  { session, to }: AskedPerson,
): Promise<Person> {
  if (session === undefined || (await visible(caller, session)) === undefined)
    throw new GatewayError('session_not_found', textRef('ask.no_session'));
  const isNamed = ({ address }: Surface): boolean =>
    to === undefined ||
    [address, parseAddress(address).channel, networkOf(address, labelOf).toLowerCase()].includes(
      to.toLowerCase(),
    );
  const chats = (await store.surfaces.surfaces(session)).filter(
    (surface) => surface.place === 'private' && parseAddress(surface.address).channel !== 'http',
  );
  const [only, ...more] = chats.filter(isNamed);
  if (only === undefined) throw notAsked(noChatFor(session, to, chats));
  if (more.length > 0)
    throw notAsked(textRef('ask.several_chats', { session, names: namesOf([only, ...more]) }));
  const { address, userId } = only;
  return { address, userId, label: languages.say({}).text(whereOf(only, labelOf)) };
}

function noChatFor(session: string, name: string | undefined, chats: readonly Surface[]): TextRef {
  return chats.length === 0 || name === undefined
    ? textRef('ask.no_chat', { session })
    : textRef('ask.no_such_chat', { session, name, names: namesOf(chats) });
}

function namesOf(chats: readonly Surface[]): string {
  return chats.map(({ address }) => address).join(', ');
}

/** Resolves once the turn of a session waits for its person, or has ended. */
function whenAsked(
  { events }: IntakeContext,
  session: Address,
): { promise: Promise<void>; close: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const close = events.subscribe({ sessionKey: session }, (event) => {
    if (event.type === 'turn_ended' || (event.type === 'notice' && event.code === 'person_asked')) resolve();
  });
  return { promise, close };
}

function notAsked(reason: TextRef): GatewayError {
  return new GatewayError('not_asked', reason);
}

function tooMany(): GatewayError {
  const text = textRef('ask.too_many', { limit: MAX_WAITING_QUESTIONS });
  return new GatewayError('too_many_questions', text, { retryable: true });
}
