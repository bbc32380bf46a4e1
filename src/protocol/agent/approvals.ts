/** Approvals: dangerous calls wait for a human. The requests, who may decide them, and the outcomes. */
import { z } from 'zod';
import { visibleText } from '../../lib/text.ts';
import type { Address, SessionKey } from '../message.ts';
import type { ApprovalDecision } from '../store/records.ts';

/** Longest arguments that a person can be asked about, as shown (`shownArgs`), in UTF-16 units. */
export const MAX_ASKED_CHARS = 16_000;
/** How often a person is asked about one call: again only if a file that it names has changed since the approval. */
export const MAX_ASKED = 3;

/** Files of the session that a call that needs a person's approval may name, including those that these files name. */
export const MAX_NAMED_FILES = 16;
/** Longest file that is searched for the names of others, in bytes. */
export const MAX_SCRIPT_BYTES = 64 * 1024;
/** Most files of a folder that a question compares with those of the last approval, and most changed ones that it names. */
export const MAX_COMPARED_FILES = 1_000;
export const MAX_SHOWN_CHANGES = 20;
/** Longest text of a named file that is shown in full in a question, in UTF-16 units. */
export const MAX_SHOWN_FILE = 2_000;

const filePlace = z.object({
  /** Relative to the session's folder. */
  path: z.string(),
  /** The file whose text names it; absent = the call itself does. */
  namedIn: z.string().optional(),
});

/** A file that a call names, itself or through another file, as it was at that moment. */
const namedFile = z.union([
  filePlace.extend({
    bytes: z.number(),
    /** Of its whole content, in hexadecimal. */
    sha256: z.string(),
    /** Its content, if it is a text short enough to show. */
    text: z.string().optional(),
  }),
  /** Not a plain file (but a link, a pipe): `problem` says what it is. */
  filePlace.extend({ problem: z.string() }),
]);

export type NamedFile = z.infer<typeof namedFile>;

/** What a folder contains at a moment. */
export interface FolderState {
  /** SHA-256 over the paths and contents of all files, in hexadecimal. */
  sha256: string;
  /** Of all files together. */
  bytes: number;
  /** A short digest of each file's content by its path, sorted. */
  files: ReadonlyMap<string, string>;
}

const callTarget = z.object({
  address: z.templateLiteral([z.string().min(1), ':', z.string().min(1)]),
  /** As its readers know it: `Telegram (private chat with Anna)`. */
  label: z.string(),
});

/** The chat of other people to which a call writes. */
export type CallTarget = z.infer<typeof callTarget>;

/** The schema of `PersonQuestion`. */
export const personQuestion = callTarget.extend({
  /** Who is asked, as a user id. */
  userId: z.string(),
  text: z.string(),
  /** Who asks, for display. */
  asker: z.string(),
});

/** A question to another person, in their private chat. */
export type PersonQuestion = z.infer<typeof personQuestion>;

/** The tool that asks another person. */
export const ASK_TOOL = 'ask';

/** Longest question to another person, and longest answer, in UTF-16 units. */
export const MAX_QUESTION_CHARS = 2_000;
export const MAX_ANSWER_CHARS = 4_000;
/** How long the turn waits before it reads an answer that was only the person's next message, so that they can take it back. */
export const ANSWER_UNDO_MS = 15_000;
/** Questions that wait for one person at a time. */
export const MAX_WAITING_QUESTIONS = 3;
/** The name under which it is stored that a person is never asked (`ChatSettingStore`, by their user id). */
export const NO_QUESTIONS = 'no_questions';

/** The subject of a request. It is stored with the request, and approving it can run nothing else. */
export const approvalSubject = z.object({
  /** Key of the call: turn, iteration and index in the answer. */
  callKey: z.string(),
  toolCallId: z.string(),
  tool: z.string(),
  /** The validated arguments with which it will run. */
  args: z.unknown(),
  /** The files that the arguments name, and those that these name, as they were at the time of the request. */
  files: z.array(namedFile).optional(),
  /** Path and short digest of each file of the folder, if the call may run any of them: the next question compares with it. */
  manifest: z
    .array(z.tuple([z.string(), z.string()]))
    .max(MAX_COMPARED_FILES)
    .optional(),
  /** SHA-256 over session, call, tool, arguments and the content of the files, or of the whole folder. */
  digest: z.string(),
  /** The chat of other people to which the call writes. A rule then covers all calls of the tool for this chat. */
  target: callTarget.optional(),
  /** Digest of the rule that may be stored with the approval; absent = a person must be asked each time. */
  rule: z.string().optional(),
  /** Reason of the request, as a sentence. */
  warning: z.string(),
  /** The language in which it is asked; absent = English. */
  language: z.string().optional(),
  /** User id the turn answers; `system` when no person started it. */
  userId: z.string(),
  address: z.templateLiteral([z.string().min(1), ':', z.string().min(1)]),
  agentId: z.string().optional(),
  /** The arguments with which a person has approved it instead. */
  changed: z.record(z.string(), z.unknown()).optional(),
  /** The message that decided it, as `channel:id`: a repeat of that message changes nothing. */
  decidedIn: z.string().optional(),
  /** The answer is the person's next message, which they may take back until the turn continues. */
  byNext: z.boolean().optional(),
  /** An answer was taken back: from then on, only a reply or a button answers. */
  replyOnly: z.boolean().optional(),
  /** Whether others read it where it is asked. */
  place: z.enum(['private', 'group']).optional(),
  /** Chats of owners in which it was asked, too, because no one had answered. */
  alsoAsked: z.array(callTarget.shape.address).optional(),
  /** Set when it is no request for approval, but a question that the model asks another person. */
  question: personQuestion.optional(),
  /** Set when it is not about a call: a plan step is waiting to run, or a paused plan to resume. */
  plan: z.object({ id: z.string(), stepId: z.string(), wait: z.enum(['step', 'pause']) }).optional(),
  /** Set when it is not about a call: a budget is used up, and `args` say how much an owner may add to it. */
  budget: z
    .object({
      /** That of the cap in its period. */
      key: z.string(),
      /** `tokens` or the code of a currency. */
      unit: z.string(),
      /** In the chat that waits, in those of owners, or by another turn, whose answer decides this one, too. */
      asks: z.enum(['here', 'owners', 'elsewhere']),
    })
    .optional(),
});

/** What an owner adds to a budget, in its unit. */
export const budgetArgs = z.strictObject({ add: z.number().positive().max(1_000_000_000_000) });

/** What a plan waits for. */
export type PlanWait = NonNullable<ApprovalSubject['plan']>;

export type ApprovalSubject = z.infer<typeof approvalSubject>;

/** A request and its outcome. Times are by the database's clock. */
export interface ApprovalRecord extends ApprovalSubject {
  id: string;
  session: SessionKey;
  /** The token that owns the session; undefined for sessions of chats. */
  ownerTokenId?: string | undefined;
  turnId: string;
  /** Who wrote the message that its turn answers, for display; absent = no person did. */
  askedBy?: string | undefined;
  /** The name of the chat in which it was asked, where the network has told it; only in the list of a caller. */
  chatName?: string | undefined;
  state: 'pending' | ApprovalDecision;
  decidedBy?: string | undefined;
  decidedName?: string | undefined;
  decidedAt?: Date | undefined;
  reason?: string | undefined;
  createdAt: Date;
  expiresAt: Date;
  expired: boolean;
  /** The private chats that share the session: it may be decided in each of them. */
  surfaces: readonly Address[];
}

/** In a group, a request has at most this long left while the next message of the person who asked waits for it, in milliseconds. */
export const GROUP_WAIT_MS = 10 * 60_000;
/** How many chats of owners one request reaches besides those in which it was asked. */
export const MAX_ALSO_ASKED = 3;

/** Most requests in a list. */
export const MAX_LISTED_APPROVALS = 200;

/** Longest reason of a denial, in UTF-16 units. */
export const MAX_REASON_CHARS = 500;
/** Most rules of one session. */
export const MAX_APPROVAL_RULES = 50;
/** Most rules in a list. */
export const MAX_LISTED_RULES = 200;

/**
 * A standing approval of one call in one session: the same tool, arguments and contents of named files (of a program:
 * of all files), in turns that answer the same person. It never covers a turn that has read text of others.
 */
export interface ApprovalRule {
  id: string;
  session: SessionKey;
  tool: string;
  args: unknown;
  userId: string;
  /** Who made it, as a user id, and the name for display. */
  createdBy: string;
  createdName?: string | undefined;
  createdAt: Date;
  /** How often a call has run under it, and when the last one did. */
  uses: number;
  usedAt?: Date | undefined;
}

/** Rules of one session, or of the sessions that one token created; neither = all. */
export interface RuleFilter {
  session?: SessionKey | undefined;
  ownerTokenId?: string | undefined;
}

/** The rules behind approvals. Throws only `StoreError`. */
export interface ApprovalRuleStore {
  /** Newest first, at most `MAX_LISTED_RULES`. */
  rules(filter: RuleFilter): Promise<ApprovalRule[]>;
  hasRule(session: SessionKey, digest: string): Promise<boolean>;
  /** Counts a use of the rule; its id, or undefined when there is none. */
  useRule(session: SessionKey, digest: string): Promise<string | undefined>;
  /** False when there is no such rule among those. */
  removeRule(id: string, filter: RuleFilter): Promise<boolean>;
}

/** Reads approval requests. Throws only `StoreError`. */
export interface ApprovalStore extends ApprovalRuleStore {
  /** The `manifest` with which the same call of the same person was last approved in the session. */
  lastManifest(
    session: SessionKey,
    call: Pick<ApprovalSubject, 'tool' | 'args' | 'userId'>,
  ): Promise<ApprovalSubject['manifest']>;
  approval(id: string): Promise<ApprovalRecord | undefined>;
  /**
   * True while another call of the session than `callKey` waits for approval, or is approved but has not started. Files
   * must not change meanwhile: what was shown is what runs. What the turn `except` asks for does not count.
   */
  asksOther(session: SessionKey, callKey: string, except?: string): Promise<boolean>;
  /**
   * Questions to a person, newest first, also those that wait no longer, at most `MAX_WAITING_QUESTIONS` times two; or
   * those of a session that wait.
   */
  questions(of: { userId: string } | { session: SessionKey }): Promise<ApprovalRecord[]>;
  /** Requests that wait for an owner to add to this budget, oldest first. */
  pendingBudgets(key: string): Promise<ApprovalRecord[]>;
  /** Pending requests without questions, oldest first; of one session, or of the sessions that one token created. */
  pendingApprovals(filter: {
    session?: SessionKey | undefined;
    ownerTokenId?: string | undefined;
    limit: number;
  }): Promise<ApprovalRecord[]>;
}

/** Who decides, and from where; everything from the transport, nothing from text. */
export interface Decider {
  userId: string;
  name?: string | undefined;
  owner: boolean;
  tokenId?: string | undefined;
  /** The token has the scope `approve`; without it, the token may decide only what its own plans wait for. */
  approves?: boolean | undefined;
  at?: { address: Address; place: 'private' | 'group' } | undefined;
  /** Made by a button, which counts only under its own request. */
  pressed?: boolean | undefined;
}

/** Outcome of a decision; only `decided` changed anything. */
export type Decided =
  | {
      kind: 'decided';
      decision: ApprovalDecision;
      rule?: 'stored' | 'full' | 'not_offered' | undefined;
      /** With other arguments than the call's own. */
      changed?: boolean;
    }
  | { kind: 'settled'; record: ApprovalRecord }
  | { kind: 'expired' }
  | { kind: 'unknown' }
  /** The changed arguments are not those of the tool, or nothing can be changed here. */
  | { kind: 'bad_args'; problem: string }
  /** A button under another request, or in another chat. */
  | { kind: 'elsewhere' }
  | { kind: 'forbidden' };

/** Further details of a decision. */
export interface DecisionDetail {
  /** The reason for a denial, for the model; at most `MAX_REASON_CHARS`. Of a question, the answer. */
  reason?: string | undefined;
  /** With an approval: the same call runs in this session without a question from now on. */
  always?: boolean | undefined;
  /** With an approval: all arguments with which the call runs instead. */
  args?: Readonly<Record<string, unknown>> | undefined;
  /** The message that decides, as `channel:id`. */
  message?: string | undefined;
  /** With an answer: it is the person's next message, and can be taken back for this long, in milliseconds. */
  undoMs?: number | undefined;
}

/** What a decision about a budget does to it: adds this much, in tokens or millionths, or refuses more in its period. */
export type BudgetChange = { key: string } & ({ more: number } | { refused: true });

/** What is wrong with arguments of a tool, for people; undefined if nothing is. Never throws. */
export type CheckArgs = (tool: string, args: Readonly<Record<string, unknown>>) => string | undefined;

/** Decides approval requests. Throws only `StoreError`. */
export interface Approvals {
  /** Decides a request; committed when it resolves. The turn continues at once, on any node. */
  decide(id: string, decision: ApprovalDecision, by: Decider, detail?: DecisionDetail): Promise<Decided>;
  /** Takes back an answer that was the person's next message: its text, or undefined if the turn has read it. */
  undoAnswer(id: string, by: Pick<Decider, 'userId'>): Promise<string | undefined>;
  /** The delivery that shows the request in this chat. */
  shownIn(id: string, address: Address): Promise<string>;
  /** The request, when this person may decide it and it is still pending; else the outcome of any decision of theirs. */
  decidable(
    id: string,
    by: Decider,
  ): Promise<{ request: ApprovalRecord } | { request?: undefined; outcome: Decided }>;
  /** Rules that the decider may revoke, newest first; an owner sees all, others those of their session or token. */
  rules(filter: RuleFilter): Promise<ApprovalRule[]>;
  /** False when there is no such rule among those. */
  removeRule(id: string, filter: RuleFilter): Promise<boolean>;
  questions: ApprovalStore['questions'];
  /** Pending requests, oldest first. */
  pending(filter: Parameters<ApprovalStore['pendingApprovals']>[0]): Promise<ApprovalRecord[]>;
}

/**
 * The arguments for people: JSON in lines, with invisible and direction-changing characters as code points, so that the
 * text shown is the text that runs.
 */
export function shownArgs(args: unknown): string {
  return visibleText(JSON.stringify(args, null, 2) ?? '');
}

/** The form of an id. Anything else is not a request, and is neither looked up nor logged. */
const APPROVAL_ID = /^[\w-]{1,50}$/;

/** True for a text that may be the id of a request. */
export function isApprovalId(text: string): boolean {
  return APPROVAL_ID.test(text);
}

/** How a request was decided, from the user id of its decision. */
export function howDecided(decidedBy: string | undefined): 'person' | 'expiry' | 'stop' {
  return decidedBy === 'expiry' || decidedBy === 'stop' ? decidedBy : 'person';
}

/** How a request ended: by a person, because it expired, or through `/stop`. */
export type ApprovalOutcome = ApprovalDecision | 'expired' | 'stopped';

/** The outcome of a request with this decision. */
export function approvalOutcome(decision: ApprovalDecision, decidedBy: string | undefined): ApprovalOutcome {
  const decider = howDecided(decidedBy);
  if (decider === 'person') return decision;
  return decider === 'expiry' ? 'expired' : 'stopped';
}

/** The delivery ref of a request's message; `otherChat` = a chat of the session other than the one it was asked in. */
export function approvalRef(id: string, otherChat?: Address): string {
  return otherChat === undefined ? `approval:${id}` : `approval:${id}@${otherChat}`;
}

/** What a button decides; `always` approves and stores a rule, `changed` approves with other arguments. */
export type ButtonDecision = ApprovalDecision | 'always' | 'changed';

const VERBS = { approved: 'approve', denied: 'deny', always: 'always', changed: 'change' } as const;

/** The value of a request's button; at most 64 bytes (Telegram's limit). */
export function buttonValue(id: string, decision: ButtonDecision): string {
  return `${VERBS[decision]}:${id}`;
}

/** The request and decision in a button's value; undefined for anything else. */
export function readButtonValue(value: string): { id: string; decision: ButtonDecision } | undefined {
  const [, verb, id = ''] = /^(approve|deny|always|change):([^]*)$/.exec(value) ?? [];
  const decision = (['approved', 'denied', 'always', 'changed'] as const).find((one) => VERBS[one] === verb);
  return decision === undefined || !isApprovalId(id) ? undefined : { id, decision };
}

/** The delivery ref of the note that says to whom a next message went as an answer. */
export function answerRef(id: string): string {
  return `answer:${id}`;
}

/** What a button about a question to a person does: `never` also refuses all later ones, `undo` takes an answer back. */
export type QuestionAct = 'answer' | 'refuse' | 'never' | 'undo';

/** The value of a button under a question. */
export function questionButton(id: string, act: QuestionAct): string {
  return `ask-${act}:${id}`;
}

/** The question and act in a button's value; undefined for anything else. */
export function readQuestionButton(value: string): { id: string; act: QuestionAct } | undefined {
  const [, verb, id = ''] = /^ask-([a-z]{1,10}):([^]*)$/.exec(value) ?? [];
  const act = (['answer', 'refuse', 'never', 'undo'] as const).find((one) => one === verb);
  return act === undefined || !isApprovalId(id) ? undefined : { id, act };
}
