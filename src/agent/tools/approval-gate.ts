/** The approval gate before every tool call: a dangerous call waits until a human approves exactly this call (S-45). */
import { createHash } from 'node:crypto';
import {
  type ApprovalSubject,
  type CallTarget,
  type FolderState,
  MAX_ASKED,
  MAX_ASKED_CHARS,
  type NamedFile,
  shownArgs,
} from '../../protocol/agent/approvals.ts';
import { ToolError } from '../../protocol/errors.ts';
import { describeSources, taints, type ToolRisk } from '../../protocol/agent/risk.ts';
import type { TurnApproval } from '../../protocol/store/records.ts';
import { cleanJson, sortKeys } from '../../lib/json/json.ts';
import type { SessionFiles, Tool } from '../../protocol/agent/tool.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import { folderNote, manifestOf } from './folder-note.ts';
import { mayReadUnasked, type Reader } from './unasked-reads.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { failure, type Outcome } from './tool-run.ts';
import { type Turn, userRoleOf } from '../turn/turn-state.ts';
import type { AgentShared } from '../deps.ts';
import { visibleText } from '../../lib/text.ts';

interface Judgement {
  risk: ToolRisk;
  /** Why the call is not safe, as a sentence for users; empty when it is safe. */
  warning: string;
}

/** Thrown where a turn must wait for a human: the turn handler then parks the turn. */
export class ApprovalWait extends Error {
  readonly subject: ApprovalSubject;

  constructor(subject: ApprovalSubject) {
    super(`${subject.tool} waits for a human.`);
    this.name = 'ApprovalWait';
    this.subject = subject;
  }
}

/** A checked call that has not run yet. */
export interface GatedCall {
  /** Unique among all turns, and the same in every attempt. */
  callKey: string;
  toolCallId: string;
  tool: Tool;
  args: unknown;
  /** Set when a subagent makes the call. */
  agentId?: string | undefined;
}

/**
 * Undefined when the call may run; an error result for the model when a human denied it, no one answered in time, or no
 * one can be asked. The approval is bound to the call's key, its exact arguments and the content of the files that they
 * name, and of a program to the whole folder, in which it may find anything: a call that differs from what was shown is asked about again. A stored rule stands for a person's approval.
 * Throws `ApprovalWait` when someone must be asked.
 */
export async function passGate(
  turn: Turn,
  call: GatedCall,
  { media: { files }, stores: { approvals }, isOwner }: AgentShared,
): Promise<Outcome | undefined> {
  const { callKey, toolCallId, tool, args, agentId } = call;
  const requests = turn.approvals.filter((one) => one.callKey === callKey);
  const [newest] = requests;
  // Checked first: a denial stands even if the call would no longer be dangerous.
  if (newest?.decision === 'denied') return failure(refusalText(tool.name, newest));
  const target = await targetOf(turn, call, isOwner);
  const judgement = withTarget(judgeCall(tool, args, readerOf(turn), turn.say), target, turn.say);
  if (!mustAsk(turn.profile.approvals, judgement)) return undefined;
  if (turn.mayAsk === false) return failure(cannotAsk(tool.name));
  const { length } = shownArgs(args);
  if (length > MAX_ASKED_CHARS) return failure(tooLongToAsk(tool.name, length));
  const bound = await boundFiles(files, turn.folder, call).catch(asToolError);
  if (bound instanceof ToolError) return failure(`Not run: ${bound.message}`);
  const digest = digestOf(turn.sessionKey, call, bound, target);
  if (newest?.digest === digest) return undefined;
  // With changed arguments: the person had read the others, next to the same files and the same chat.
  const read = newest?.changed == null ? undefined : { ...call, args: newest.shown };
  if (read && newest?.digest === digestOf(turn.sessionKey, read, bound, target)) return undefined;
  const rule = ruleDigest(turn, call, bound, target);
  const ruleId = rule === undefined ? undefined : await approvals.useRule(turn.sessionKey, rule);
  if (ruleId !== undefined) {
    turn.log.info({ ruleId, tool: tool.name, callKey }, 'approval_rule_used');
    return undefined;
  }
  if (requests.length >= MAX_ASKED) return failure(keepsChanging(tool.name));
  const { userId, address, say } = turn;
  const { named, folder } = bound;
  const subject = { tool: tool.name, args, userId };
  const before = folder && (await approvals.lastManifest(turn.sessionKey, subject));
  const warning = [
    judgement.warning,
    newest === undefined ? '' : say('risk.changed_since'),
    folder === undefined ? '' : folderNote(folder, before, say),
  ];
  throw new ApprovalWait({
    ...subject,
    callKey,
    toolCallId,
    digest,
    target,
    rule,
    address,
    place: turn.askedIn,
    agentId,
    language: say.language,
    ...(named.length > 0 && { files: shownFiles(named, length) }),
    ...(folder !== undefined && { manifest: manifestOf(folder) }),
    warning: warning.filter(Boolean).join(' '),
  });
}

/** The chat of other people that a call writes to. A subagent writes to no one. Throws `StoreError`. */
async function targetOf(
  turn: Turn,
  { tool, args, agentId }: GatedCall,
  isOwner: AgentShared['isOwner'],
): Promise<CallTarget | undefined> {
  if (tool.target === undefined || agentId !== undefined) return undefined;
  const { sessionKey, address, userId, place, say } = turn;
  const userRole = await userRoleOf(turn, isOwner);
  const target = await tool.target(args, { sessionKey, address, userId, place, userRole });
  return target && { address: target.address, label: say.text(target.label) };
}

/** A call that writes to other people is never made without a question, unless a rule answers it. */
function withTarget(judgement: Judgement, target: CallTarget | undefined, say: Say): Judgement {
  if (target === undefined) return judgement;
  const to = say('risk.writes_to', { chat: target.label, address: `\`${target.address}\`` });
  const more = judgement.risk === 'dangerous' ? ` ${judgement.warning}` : '';
  return { risk: 'dangerous', warning: to + more };
}

/** The arguments with which a person has approved a call instead of its own; undefined if no one has changed any. */
export function changedArgs(
  { approvals }: Turn,
  callKey: string,
): Readonly<Record<string, unknown>> | undefined {
  return approvals.find((one) => one.callKey === callKey && one.changed != null)?.changed ?? undefined;
}

/** The files to which an approval is bound: those that the call names, and of a program the state of all. */
interface BoundFiles {
  named: readonly NamedFile[];
  folder?: FolderState | undefined;
}

/** Throws `ToolError` for files that cannot be shown or bound. */
async function boundFiles(
  files: SessionFiles,
  folder: string,
  { tool, args }: GatedCall,
): Promise<BoundFiles> {
  const named = await files.named(folder, tool.files?.(args) ?? [], tool.filesIn?.bind(tool));
  return { named, folder: tool.uses && (await files.state(folder)) };
}

function asToolError(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  throw error;
}

/** The files with their texts as long as these fit next to the arguments; without its text a file shows its digest. */
function shownFiles(namedFiles: readonly NamedFile[], chars: number): NamedFile[] {
  let room = MAX_ASKED_CHARS - chars;
  return namedFiles.map((file) => {
    if (!('text' in file) || file.text === undefined) return file;
    room -= visibleText(file.text).length;
    if (room >= 0) return file;
    const { text: _, ...rest } = file;
    return rest;
  });
}

function readerOf({ past: pastRows, rows, author }: Turn): Reader {
  return { taint: rows.taint, rows: [...pastRows, rows.user, ...rows.steps], author };
}

/** Equal for the same call with the same arguments, in whatever order their fields are, and the same content of its files. */
function digestOf(
  sessionKey: string,
  { callKey, tool, args }: GatedCall,
  { named, folder }: BoundFiles,
  target: CallTarget | undefined,
): string {
  const files = named.map((file) => [file.path, 'sha256' in file ? file.sha256 : file.problem]);
  const to = target === undefined ? [] : [target.address];
  return digestOfParts([sessionKey, callKey, tool.name, args, files, ...to], folder);
}

/**
 * Digest of the rule that would cover this call: the same person, tool, arguments and content of files, in this
 * session; of one that writes to other people, every message to that chat. Undefined where a person must decide each time: when text of others may have caused the call, and when it
 * runs a program that may run others in turn, such as a shell.
 */
function ruleDigest(
  turn: Turn,
  { tool, args }: GatedCall,
  { named, folder }: BoundFiles,
  target: CallTarget | undefined,
): string | undefined {
  if (taints(turn.rows.taint.sources) || tool.uses?.(args) === 'anything') return undefined;
  if (target !== undefined) {
    const call = [turn.sessionKey, turn.userId, tool.name, target.address];
    return digestOfParts(['rule for a chat', ...call], undefined);
  }
  if (named.some((file) => 'problem' in file)) return undefined;
  const files = named.map((file) => [file.path, 'sha256' in file ? file.sha256 : '']);
  return digestOfParts(['rule', turn.sessionKey, turn.userId, tool.name, args, files], folder);
}

function digestOfParts(parts: unknown[], folder: FolderState | undefined): string {
  const whole = cleanJson(sortKeys(folder === undefined ? parts : [...parts, folder.sha256]));
  return createHash('sha256').update(whole).digest('hex');
}

function cannotAsk(name: string): string {
  return (
    `Not run: ${name} needs the approval of a human, and a background subagent cannot ask for it. ` +
    'State in your result what you wanted to do and why, so that the main agent can do it.'
  );
}

function tooLongToAsk(name: string, length: number): string {
  return (
    `Not run: ${name} needs the approval of a person, who is shown all of its arguments. These have ${length} characters; ` +
    `at most ${MAX_ASKED_CHARS} can be asked about. Make several smaller calls of it.`
  );
}

function keepsChanging(name: string): string {
  return `Not run: the files that this call of ${name} names changed each time after it was approved, ${MAX_ASKED} times. Tell the user.`;
}

function refusalText(name: string, { decidedBy, reason }: TurnApproval): string {
  const instead = 'Do not try to reach the same in another way; say what you wanted to do and why.';
  if (decidedBy === 'expiry') return `Not run: no one allowed ${name} in time. ${instead}`;
  const quote = reason ? ` The person's reason: ${JSON.stringify(reason)}.` : '';
  const next = reason ? 'Follow it, and do not try to reach the same in another way.' : instead;
  return `Not run: a person was asked and did not allow ${name}.${quote} ${next}`;
}

/** Judges a call with checked arguments; without a `reader` only the call itself counts. Never throws. */
export function judgeCall(tool: Tool, args: unknown, reader?: Reader, say: Say = inEnglish): Judgement {
  const risk = tool.risk(args);
  if (risk === 'dangerous') {
    return { risk, warning: say('risk.it', { what: tool.warning?.(args) ?? say('risk.cannot_be_undone') }) };
  }
  if (reader !== undefined && reachesOutside(tool, args, reader)) {
    const sources = describeSources(reader.taint.sources, say);
    const key = tool.effect === 'pure' ? 'risk.sends' : 'risk.reaches';
    return { risk: 'dangerous', warning: say(key, { sources }) };
  }
  return { risk, warning: risk === 'caution' ? say('risk.changes') : '' };
}

function reachesOutside(tool: Tool, args: unknown, reader: Reader): boolean {
  if (!taints(reader.taint.sources)) return false;
  const reach = tool.reach(args);
  return typeof reach === 'string' ? reach === 'outside' : !mayReadUnasked(reader, reach);
}

/** True when a call waits for a human under this profile. No profile lets a dangerous one pass (S-45). */
export function mustAsk(approvals: Profile['approvals'], { risk }: Judgement): boolean {
  return risk === 'dangerous' || (risk === 'caution' && approvals === 'caution');
}
