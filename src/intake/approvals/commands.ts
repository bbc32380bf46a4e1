/** Decisions on approval requests in chats: by a button, by `/approve` and `/deny`, or by a reply to the question. */
import {
  type Approvals,
  type Decided,
  type Decider,
  MAX_REASON_CHARS,
  readButtonValue,
} from '../../protocol/agent/approvals.ts';
import { addressOf, type InboundMessage, type SessionKey, userIdOf } from '../../protocol/message.ts';
import type { Form, PressHandler } from '../../protocol/receive.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { describeDecided } from './approvals.ts';
import type { Languages } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

const REASON = 'reason';

/** Asks for the reason of a denial, which is optional. */
function reasonForm(value: string, say: Say): Form {
  const field = { name: REASON, label: say('approval.reason'), description: say('approval.reason_help') };
  const bounds = { maxLength: MAX_REASON_CHARS, lines: 'many', required: false } as const;
  return { title: say('approval.deny'), value, fields: [{ ...field, ...bounds }] };
}

/** Makes the handler of the buttons under a request. If a form can be shown, a denial asks for its reason first. */
export function createApprovalButtons(approvals: Approvals): PressHandler {
  return async ({ value, address, place, userId, senderName, owner, forms, fields, say }) => {
    const pressed = readButtonValue(value);
    if (pressed === undefined) return undefined;
    const { id, decision, always } = pressed;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    const mayExplain = decision === 'denied' && forms === true && fields === undefined;
    const asked = mayExplain ? await approvals.decidable(id, by) : undefined;
    // A plan's pending step is skipped or stopped, which needs no reason.
    if (asked !== undefined && asked.plan === undefined) return { reply: '', form: reasonForm(value, say) };
    const reason = (fields?.[REASON] ?? '').trim().slice(0, MAX_REASON_CHARS).toWellFormed();
    const detail = decision === 'denied' && reason !== '' ? { reason } : { always };
    const decided = await approvals.decide(id, decision, by, detail);
    const entitled = decided.kind === 'decided' || decided.kind === 'settled' || decided.kind === 'expired';
    return {
      reply: describeDecided(decided, say),
      ...(entitled && { shownBy: await approvals.shownIn(id, address) }),
    };
  };
}

/** Makes `/approve` and `/deny`: without an id they decide the request that this chat waits for. */
export function createApprovalCommands(approvals: Approvals): Command[] {
  return [
    {
      name: 'approve',
      description: 'about.approve',
      scope: 'approve',
      argument: {
        name: 'id',
        label: 'word.id',
        description: 'argument.approve',
        required: false,
      },
      run: (call) => approve(approvals, call),
    },
    {
      name: 'deny',
      description: 'about.deny',
      scope: 'approve',
      argument: {
        name: 'reason',
        label: 'word.reason',
        description: 'argument.deny',
        required: false,
      },
      run: (call) => deny(approvals, call),
    },
  ];
}

/** The format of a request id; any other first word of `/deny` starts the reason. */
const GIVEN_ID = /^([\w-]{22})(?:\s+|$)/;

async function approve(approvals: Approvals, call: CommandCall): Promise<string> {
  const id = call.args === '' ? await waitingId(approvals, call.session) : call.args;
  if (id === undefined) return call.say('decided.nothing');
  return describeDecided(await approvals.decide(id, 'approved', deciderOf(call)), call.say);
}

async function deny(approvals: Approvals, call: CommandCall): Promise<string> {
  const given = GIVEN_ID.exec(call.args);
  const id = given?.[1] ?? (await waitingId(approvals, call.session));
  if (id === undefined) return call.say('decided.nothing');
  const text = call.args.slice(given?.[0].length ?? 0);
  return await denyFor(approvals, id, deciderOf(call), text, call.say);
}

async function waitingId(approvals: Approvals, session: SessionKey): Promise<string | undefined> {
  const [waiting] = await approvals.pending({ session, limit: 1 });
  return waiting?.id;
}

function deciderOf({ userId, senderName, owner, tokenId, address, place = 'group' }: CommandCall): Decider {
  return { userId, name: senderName, owner, tokenId, approves: true, at: { address, place } };
}

/** Denies with as much of the reason as fits; the answer says if it was cut. */
async function denyFor(
  approvals: Approvals,
  id: string,
  by: Decider,
  text: string,
  say: Say,
): Promise<string> {
  const whole = text.trim();
  const reason = whole.slice(0, MAX_REASON_CHARS).toWellFormed();
  const decided: Decided = await approvals.decide(id, 'denied', by, reason === '' ? {} : { reason });
  const cut = decided.kind === 'decided' && reason.length < whole.length;
  const outcome = describeDecided(decided, say);
  return cut ? `${outcome} ${say('decided.reason_cut', { most: MAX_REASON_CHARS })}` : outcome;
}

/** The newest requests of a conversation that a reply is matched against. */
const REQUESTS_SEARCHED = 5;

/**
 * Makes the handler of replies to a question: the reply is the reason of a denial. Undefined for a reply to another
 * message, and for one from someone who may not decide. Throws only `StoreError`.
 */
export function createDenyByReply(
  approvals: Approvals,
  ledger: Pick<Ledger, 'sentParts'>,
  languages: Pick<Languages, 'say'>,
): (message: InboundMessage, session: SessionKey, owner: boolean) => Promise<string | undefined> {
  return async (message, session, owner) => {
    const { replyTo, senderName, place, content } = message;
    if (replyTo === undefined) return undefined;
    const waiting = await approvals.pending({ session, limit: REQUESTS_SEARCHED });
    const address = addressOf(message);
    for (const { id } of waiting.filter(({ plan }) => plan === undefined)) {
      const parts = await ledger.sentParts(await approvals.shownIn(id, address));
      if (!parts.some((part) => part.id === replyTo)) continue;
      const userId = userIdOf(message);
      const at = { address, place };
      const by: Decider = { userId, name: senderName, owner, at };
      const mine = await approvals.decidable(id, by);
      return mine === undefined
        ? undefined
        : await denyFor(approvals, id, by, content, languages.say(message));
    }
    return undefined;
  };
}
