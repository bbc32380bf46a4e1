/** Decisions on approval requests in chats: by a button, by `/approve` and `/deny`, or by a reply to the question. */
import { approvalRef, MAX_REASON_CHARS, readButtonValue } from '../../contracts/approvals.ts';
import type { Approvals, Decided, Decider } from '../../contracts/approvals.ts';
import { addressOf, userIdOf } from '../../contracts/message.ts';
import type { InboundMessage, SessionKey } from '../../contracts/message.ts';
import type { PressHandler } from '../../contracts/receive.ts';
import type { Command, CommandCall } from '../../contracts/command.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import { describeDecided } from './approvals.ts';

/** Makes the handler of the buttons under a request. */
export function createApprovalButtons(approvals: Approvals): PressHandler {
  return async ({ value, address, place, userId, senderName, owner }) => {
    const pressed = readButtonValue(value);
    if (pressed === undefined) return undefined;
    const { id, decision, always } = pressed;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    const decided = await approvals.decide(id, decision, by, { always });
    const entitled = decided.kind === 'decided' || decided.kind === 'settled' || decided.kind === 'expired';
    return { reply: describeDecided(decided), ...(entitled && { shownBy: approvalRef(id) }) };
  };
}

/** Makes `/approve` and `/deny`: without an id they decide the request that this chat waits for. */
export function createApprovalCommands(approvals: Approvals): Command[] {
  return [
    {
      name: 'approve',
      description: 'Approve what I asked you about',
      scope: 'approve',
      argument: {
        name: 'id',
        description: 'Id of the request; default: the one asked here',
        required: false,
      },
      run: (call) => approve(approvals, call),
    },
    {
      name: 'deny',
      description: 'Deny what I asked you about, and say why',
      scope: 'approve',
      argument: {
        name: 'reason',
        description: 'Your reason, which I read; an id may precede it',
        required: false,
      },
      run: (call) => deny(approvals, call),
    },
  ];
}

/** An id as requests have it; another first word of `/deny` begins the reason. */
const GIVEN_ID = /^([\w-]{22})(?:\s+|$)/;

const NOTHING = 'There is no pending request here.';

async function approve(approvals: Approvals, call: CommandCall): Promise<string> {
  const id = call.args === '' ? await waitingId(approvals, call.session) : call.args;
  if (id === undefined) return NOTHING;
  return describeDecided(await approvals.decide(id, 'approved', deciderOf(call)));
}

async function deny(approvals: Approvals, call: CommandCall): Promise<string> {
  const given = GIVEN_ID.exec(call.args);
  const id = given?.[1] ?? (await waitingId(approvals, call.session));
  if (id === undefined) return NOTHING;
  const words = call.args.slice(given?.[0].length ?? 0);
  return await denyFor(approvals, id, deciderOf(call), words);
}

async function waitingId(approvals: Approvals, session: SessionKey): Promise<string | undefined> {
  const [waiting] = await approvals.pending({ session, limit: 1 });
  return waiting?.id;
}

function deciderOf({ userId, senderName, owner, tokenId, address, place = 'group' }: CommandCall): Decider {
  return { userId, name: senderName, owner, tokenId, approves: true, at: { address, place } };
}

/** Denies, with as much of the reason as fits; the answer says when it did not all fit. */
async function denyFor(approvals: Approvals, id: string, by: Decider, words: string): Promise<string> {
  const whole = words.trim();
  const reason = whole.slice(0, MAX_REASON_CHARS).toWellFormed();
  const decided: Decided = await approvals.decide(id, 'denied', by, reason === '' ? {} : { reason });
  const cut = decided.kind === 'decided' && reason.length < whole.length;
  return (
    describeDecided(decided) +
    (cut ? ` Only the first ${MAX_REASON_CHARS} characters of your reason were kept.` : '')
  );
}

/** The newest requests of a conversation under which a reply is looked for. */
const REQUESTS_SEARCHED = 5;

/**
 * Makes the handler of replies to a question: the reply is the reason of a denial. Undefined for a reply to another message,
 * and for one of somebody who may not decide. Throws only `StoreError`.
 */
export function createDenyByReply(
  approvals: Approvals,
  ledger: Pick<Ledger, 'sentParts'>,
): (message: InboundMessage, session: SessionKey, owner: boolean) => Promise<string | undefined> {
  return async (message, session, owner) => {
    const { replyTo, senderName, place, content } = message;
    if (replyTo === undefined) return undefined;
    const waiting = await approvals.pending({ session, limit: REQUESTS_SEARCHED });
    for (const { id } of waiting.filter(({ plan }) => plan === undefined)) {
      const parts = await ledger.sentParts(approvalRef(id));
      if (!parts.some((part) => part.id === replyTo)) continue;
      const userId = userIdOf(message);
      const at = { address: addressOf(message), place };
      const by: Decider = { userId, name: senderName, owner, at };
      return (await approvals.decidable(id, by)) ? await denyFor(approvals, id, by, content) : undefined;
    }
    return undefined;
  };
}
