/** Decisions on approval requests in chats by `/approve` and `/deny`, or by a reply to the question. */
import { z } from 'zod';
import type { IntakeContext } from '../context.ts';
import {
  type ApprovalRecord,
  type Approvals,
  type Decided,
  type Decider,
  MAX_LISTED_APPROVALS,
  MAX_REASON_CHARS,
} from '../../protocol/agent/approvals.ts';
import {
  type Address,
  addressOf,
  type InboundMessage,
  type SessionKey,
  userIdOf,
} from '../../protocol/message.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import { isAfter, isReplyToCopy } from '../surfaces/next-answer.ts';
import { describeDecided } from './approvals.ts';
import type { Say } from '../../protocol/texts/say.ts';

/** Makes `/approve` and `/deny`: without an id they decide the request that this chat waits for. */
export function createApprovalCommands(approvals: Approvals): Command[] {
  return [
    {
      name: 'approve',
      description: 'about.approve',
      scope: 'approve',
      argument: { name: 'id', label: 'word.id', description: 'argument.approve', required: false },
      run: (call) => approve(approvals, call),
    },
    {
      name: 'deny',
      description: 'about.deny',
      scope: 'approve',
      argument: { name: 'reason', label: 'word.reason', description: 'argument.deny', required: false },
      run: (call) => deny(approvals, call),
    },
  ];
}

/** Approves a call with the arguments in a JSON object in place of those of the same names; undefined if it is none. */
async function approveChanged(
  approvals: Approvals,
  id: string,
  by: Decider,
  text: string,
  say: Say,
): Promise<string> {
  const changes = readObject(text);
  if (changes === undefined) return say('decided.bad_args', { problem: say('decided.no_json') });
  const { request } = await approvals.decidable(id, by);
  const args = { ...readArgs(request?.args), ...changes };
  return describeDecided(await approvals.decide(id, 'approved', by, { args }), say);
}

/** A JSON object, alone or as a block of code. */
function readObject(text: string): Record<string, unknown> | undefined {
  const trimmed = text.trim();
  const isBlock = trimmed.startsWith('```') && trimmed.endsWith('```') && trimmed.length >= 6;
  const json = isBlock ? trimmed.slice(3, -3).replace(/^[a-z]+/, '') : text;
  try {
    return jsonObject.safeParse(JSON.parse(json)).data;
  } catch {
    // Not JSON: `undefined` says so.
    return undefined;
  }
}

/** An amount as people write it: `5`, `+2,50 €`, `100000 tokens`. A comma is a decimal one. */
function readAmount(text: string): number | undefined {
  const [, digits] = /^\s*\+?\s*\p{Sc}?\s*(\d{1,12}(?:[.,]\d{1,6})?)(?![\d.,])/u.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits.replace(',', '.'));
}

const jsonObject = z.record(z.string(), z.unknown());

export function readArgs(args: unknown): Record<string, unknown> {
  return jsonObject.safeParse(args).data ?? {};
}

/** The format of a request id; any other first word of `/deny` starts the reason. */
const GIVEN_ID = /^([\w-]{22})(?:\s+|$)/;

async function approve(approvals: Approvals, call: CommandCall): Promise<string> {
  const match = GIVEN_ID.exec(call.args);
  const change = call.args.slice(match?.[0].length ?? 0);
  const isChange = change.startsWith('{');
  const named = match?.[1] ?? (isChange || call.args === '' ? undefined : call.args);
  const id = named ?? (await waitingId(approvals, call));
  if (id === undefined) return call.say('decided.nothing');
  if (isChange) return await approveChanged(approvals, id, deciderOf(call), change, call.say);
  return describeDecided(await approvals.decide(id, 'approved', deciderOf(call)), call.say);
}

async function deny(approvals: Approvals, call: CommandCall): Promise<string> {
  const match = GIVEN_ID.exec(call.args);
  const id = match?.[1] ?? (await waitingId(approvals, call));
  if (id === undefined) return call.say('decided.nothing');
  const text = call.args.slice(match?.[0].length ?? 0);
  return await denyFor(approvals, id, deciderOf(call), text, call.say);
}

async function waitingId(
  approvals: Approvals,
  { session, address, owner }: CommandCall,
): Promise<string | undefined> {
  const [request] = await approvals.pending({ session, limit: 1 });
  return request?.id ?? (owner ? (await alsoAskedIn(approvals, address))[0]?.id : undefined);
}

/** The requests of other chats for which an owner was asked here. Throws only `StoreError`. */
export async function alsoAskedIn(approvals: Approvals, address: Address): Promise<ApprovalRecord[]> {
  const pending = await approvals.pending({ limit: MAX_LISTED_APPROVALS });
  return pending.filter(({ alsoAsked }) => alsoAsked?.includes(address) === true);
}

/** The person of a command, who may decide what a plan or a call waits for. */
export function deciderOf({
  userId,
  senderName,
  owner,
  tokenId,
  address,
  place = 'group',
}: CommandCall): Decider {
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
  const decision: Decided = await approvals.decide(id, 'denied', by, reason === '' ? {} : { reason });
  const isCut = decision.kind === 'decided' && reason.length < whole.length;
  const outcome = describeDecided(decision, say);
  return isCut ? `${outcome} ${say('decided.reason_cut', { most: MAX_REASON_CHARS })}` : outcome;
}

/** The newest requests of a conversation that a reply is matched against. */
const REQUESTS_SEARCHED = 5;

/**
 * Denies the request that a message replies to, with its text as the reason, or approves it with the arguments of a JSON
 * object; undefined if it replies to something else,
 * or its sender may not decide. Throws only `StoreError`.
 */
export async function decideByReply(
  context: IntakeContext,
  message: InboundMessage,
  session: SessionKey,
  owner: boolean,
): Promise<string | undefined> {
  const { approvals, ledger, languages } = context;
  const { replyTo, senderName, place, content } = message;
  if (replyTo === undefined) return undefined;
  const address = addressOf(message);
  const requests = [
    ...(await approvals.pending({ session, limit: REQUESTS_SEARCHED })),
    ...(owner ? await alsoAskedIn(approvals, address) : []),
  ];
  const calls = requests.filter(({ plan }) => plan === undefined);
  const [quotedOnly, ...more] = calls.filter((record) => quotesRequest(message, record));
  for (const record of calls) {
    const { id, tool, createdAt } = record;
    const ref = await approvals.shownIn(id, address);
    const parts = await ledger.sentParts(ref);
    const mayBeCopy = record === quotedOnly && more.length === 0;
    const isReply =
      parts.length === 0
        ? quotesRequest(message, record) && (await ledger.maybeSent(address, ref))
        : parts.some((part) => part.id === replyTo) ||
          (mayBeCopy && (await isReplyToCopy(context, message, tool, createdAt)));
    if (!isReply) continue;
    const userId = userIdOf(message);
    const at = { address, place };
    const by: Decider = { userId, name: senderName, owner, at };
    const { request } = await approvals.decidable(id, by);
    if (request === undefined) return undefined;
    const say = languages.say(message);
    const amount = record.budget === undefined ? undefined : readAmount(content);
    if (amount !== undefined)
      return describeDecided(await approvals.decide(id, 'approved', by, { args: { add: amount } }), say);
    return readObject(content) === undefined
      ? await denyFor(approvals, id, by, content, say)
      : await approveChanged(approvals, id, by, content, say);
  }
  return undefined;
}

/**
 * True if the quoted message may be the request, whose ids are not stored yet: it is being sent, or its node has died. A
 * decision needs more than a guess, so the quote must be the bot's, newer than the request, and name the tool.
 */
function quotesRequest({ quoted }: InboundMessage, { tool, createdAt }: ApprovalRecord): boolean {
  if (quoted?.by !== 'bot' || quoted.sentAt === undefined) return false;
  return isAfter(quoted.sentAt, createdAt) && quoted.text.includes(tool);
}
