/** The approval gate before every tool call: a dangerous call waits until a human approves exactly this call (S-45). */
import { createHash } from 'node:crypto';
import {
  type ApprovalRuleStore,
  type ApprovalSubject,
  MAX_ASKED,
  MAX_ASKED_CHARS,
  type NamedFile,
  shownArgs,
  visibleText,
} from '../../protocol/agent/approvals.ts';
import { ToolError } from '../../protocol/errors.ts';
import { taints } from '../../protocol/agent/risk.ts';
import type { TurnApproval } from '../../protocol/store/records.ts';
import { cleanJson, sortKeys } from '../../lib/json/json.ts';
import type { SessionFiles, Tool } from '../../protocol/agent/tool.ts';
import { judgeCall, mustAsk } from './risk.ts';
import { failure, type Outcome } from './tool-run.ts';
import type { Reader } from './unasked-reads.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

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

/** The parts of a turn that the gate reads. */
type Gated = TurnIdentity & Pick<TurnContext, 'profile'> & Pick<TurnProgress, 'approvals'> & ReaderInput;

/** The parts of a turn that its calls are judged by. */
type ReaderInput = Pick<TurnContext, 'past'> & Pick<TurnProgress, 'rows'> & Pick<TurnIdentity, 'author'>;

/** What the gate asks: the files that a call names, and the rules that people have stored. */
export interface GateDeps {
  files: Pick<SessionFiles, 'named'>;
  approvals: Pick<ApprovalRuleStore, 'useRule'>;
}

/**
 * Undefined when the call may run; an error result for the model when a human denied it, no one answered in time, or no
 * one can be asked. The approval is bound to the call's key, its exact arguments and the content of the files that they
 * name: a call that differs from what was shown is asked about again. A stored rule stands for a person's approval.
 * Throws `ApprovalWait` when someone must be asked.
 */
export async function passGate(
  turn: Gated,
  call: GatedCall,
  { files, approvals }: GateDeps,
): Promise<Outcome | undefined> {
  const { callKey, toolCallId, tool, args, agentId } = call;
  const asked = turn.approvals.filter((one) => one.callKey === callKey);
  const [newest] = asked;
  // Checked first: a denial stands even when the reason why the call was dangerous is gone by now.
  if (newest?.decision === 'denied') return failure(refusalText(tool.name, newest));
  const judgement = judgeCall(tool, args, readerOf(turn), turn.say);
  if (!mustAsk(turn.profile, judgement)) return undefined;
  if (turn.mayAsk === false) return failure(cannotAsk(tool.name));
  const { length } = shownArgs(args);
  if (length > MAX_ASKED_CHARS) return failure(tooLongToAsk(tool.name, length));
  const words = tool.files?.(args) ?? [];
  const named = await files.named(turn.folder, words, tool.filesIn?.bind(tool)).catch(asToolError);
  if (named instanceof ToolError) return failure(`Not run: ${named.message}`);
  const digest = digestOf(turn.sessionKey, call, named);
  if (newest?.digest === digest) return undefined;
  const rule = ruleDigest(turn, call, named);
  const ruleId = rule === undefined ? undefined : await approvals.useRule(turn.sessionKey, rule);
  if (ruleId !== undefined) {
    turn.log.info({ ruleId, tool: tool.name, callKey }, 'approval_rule_used');
    return undefined;
  }
  if (asked.length >= MAX_ASKED) return failure(keepsChanging(tool.name));
  const { userId, address } = turn;
  const warning =
    newest === undefined ? judgement.warning : `${judgement.warning} ${turn.say('risk.changed_since')}`;
  const what = { tool: tool.name, args, ...(named.length > 0 && { files: shownFiles(named, length) }) };
  const subject = { callKey, toolCallId, ...what, digest, rule, warning, userId, address, agentId };
  throw new ApprovalWait({ ...subject, language: turn.say.language });
}

function asToolError(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  throw error;
}

/** The files with their texts as long as these fit next to the arguments; without its text a file shows its digest. */
function shownFiles(named: readonly NamedFile[], used: number): NamedFile[] {
  let room = MAX_ASKED_CHARS - used;
  return named.map((file) => {
    if (!('text' in file) || file.text === undefined) return file;
    room -= visibleText(file.text).length;
    if (room >= 0) return file;
    const { text: _, ...rest } = file;
    return rest;
  });
}

function readerOf({ past, rows, author }: ReaderInput): Reader {
  return { taint: rows.taint, rows: [...past, rows.user, ...rows.steps], author };
}

/** Equal for the same call with the same arguments, in whatever order their fields are, and the same content of its files. */
function digestOf(
  sessionKey: string,
  { callKey, tool, args }: GatedCall,
  named: readonly NamedFile[],
): string {
  const files = named.map((file) => [file.path, 'sha256' in file ? file.sha256 : file.problem]);
  const whole = cleanJson(sortKeys([sessionKey, callKey, tool.name, args, files]));
  return createHash('sha256').update(whole).digest('hex');
}

/**
 * Digest of the rule that would cover this call: the same person, tool, arguments and content of files, in this
 * session. Undefined where a person must decide each time: when text of others may have caused the call, and when it
 * may run files that no one has seen.
 */
function ruleDigest(
  turn: Pick<Gated, 'sessionKey' | 'userId' | 'rows'>,
  { tool, args }: GatedCall,
  named: readonly NamedFile[],
): string | undefined {
  if (taints(turn.rows.taint.sources)) return undefined;
  if (named.some((file) => 'problem' in file || file.mayNameMore === true)) return undefined;
  const files = named.map((file) => [file.path, 'sha256' in file ? file.sha256 : '']);
  const whole = cleanJson(sortKeys(['rule', turn.sessionKey, turn.userId, tool.name, args, files]));
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

function refusalText(
  name: string,
  { decidedBy, reason }: Pick<TurnApproval, 'decidedBy' | 'reason'>,
): string {
  const instead = 'Do not try to reach the same in another way; say what you wanted to do and why.';
  if (decidedBy === 'expiry') return `Not run: no one allowed ${name} in time. ${instead}`;
  const said = reason ? ` The person's reason: ${JSON.stringify(reason)}.` : '';
  const next = reason ? 'Follow it, and do not try to reach the same in another way.' : instead;
  return `Not run: a person was asked and did not allow ${name}.${said} ${next}`;
}
