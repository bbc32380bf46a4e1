/** The buttons under approval requests, and the forms that they open where the network shows forms. */
import {
  type ApprovalRecord,
  type Approvals,
  type Decider,
  MAX_REASON_CHARS,
  readButtonValue,
} from '../../protocol/agent/approvals.ts';
import { callFields, problemsByArgument, readCallFields } from '../../protocol/isomorphic/call-fields.js';
import type { Form, Press, PressAnswer, PressHandler } from '../../protocol/receive.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { clipEnd } from '../../lib/text.ts';
import { describeDecided } from './approvals.ts';
import { readArgs } from './commands.ts';

const REASON = 'reason';

/** Arguments that a form has fields for, and the longest text and name of one (Discord's limits). */
export const MAX_FORM_ARGUMENTS = 5;
export const MAX_FORM_TEXT = 4_000;
const MAX_FORM_NAME = 45;
/** Characters of rejected changes that the person reads again, so that they can be copied. */
const MAX_RETURNED_CHARS = 1_500;

/** Makes the handler of the buttons under a request. If a form can be shown, a denial asks for its reason there first. */
export function createApprovalButtons(approvals: Approvals): PressHandler {
  return async (press) => {
    const { value, address, place, userId, senderName, owner, forms, fields, say } = press;
    const pressed = readButtonValue(value);
    if (pressed === undefined) return undefined;
    const { id, decision } = pressed;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    if (decision === 'changed') return await change(approvals, id, by, press);
    const mayExplain = decision === 'denied' && forms === true && fields === undefined;
    const { request } = mayExplain ? await approvals.decidable(id, by) : {};
    // A plan's pending step is skipped or stopped, and a budget stays as it is, which needs no reason.
    if (request !== undefined && request.plan === undefined && request.budget === undefined)
      return { reply: '', form: reasonForm(value, say) };
    const reason = (fields?.[REASON] ?? '').trim().slice(0, MAX_REASON_CHARS).toWellFormed();
    const isAlways = decision === 'always';
    const detail = decision === 'denied' && reason !== '' ? { reason } : { always: isAlways };
    const outcome = await approvals.decide(id, isAlways ? 'approved' : decision, by, detail);
    const entitled = outcome.kind === 'decided' || outcome.kind === 'settled' || outcome.kind === 'expired';
    return {
      reply: describeDecided(outcome, say),
      ...(entitled && { shownBy: await approvals.shownIn(id, address) }),
    };
  };
}

/** Asks for the reason of a denial, which is optional. */
function reasonForm(value: string, say: Say): Form {
  const field = { name: REASON, label: say('approval.reason'), description: say('approval.reason_help') };
  const bounds = { maxLength: MAX_REASON_CHARS, lines: 'many', required: false } as const;
  return { title: say('approval.deny'), value, fields: [{ ...field, ...bounds }] };
}

/** Shows the arguments in a form, or approves the call with those that came back. */
async function change(
  approvals: Approvals,
  id: string,
  by: Decider,
  { value, address, forms, fields, say }: Press,
): Promise<PressAnswer> {
  const decidable = await approvals.decidable(id, by);
  if (decidable.request === undefined) return { reply: describeDecided(decidable.outcome, say) };
  const { request } = decidable;
  if (fields === undefined) {
    const form = forms === true ? changeForm(request, value, say) : undefined;
    return form === undefined ? { reply: say('approval.edit_reply') } : { reply: '', form };
  }
  const args = readArgs(request.args);
  const texts = Object.keys(args).map((_name, at) => fields[fieldName(at)]);
  const changes = readCallFields(args, texts);
  if ('notJson' in changes) return rejected(request, changes.notJson, fields, say);
  const detail = changes.isChanged ? { args: changes.args } : {};
  const outcome = await approvals.decide(id, 'approved', by, detail);
  const reply = describeDecided(outcome, say);
  if (outcome.kind === 'bad_args')
    return {
      reply: `${reply}${returned(request, fields)}`,
      problems: problemsOf(Object.keys(args), outcome.problem, reply),
    };
  return { reply, shownBy: await approvals.shownIn(id, address) };
}

function fieldName(at: number): string {
  return `argument-${at}`;
}

/** A field for each argument; undefined for a call whose arguments do not fit. */
function changeForm({ args: storedArgs, tool }: ApprovalRecord, value: string, say: Say): Form | undefined {
  const fields = callFields(readArgs(storedArgs));
  const isFit = fields.every(
    ({ name, text }) => text.length <= MAX_FORM_TEXT && name !== '' && name.length <= MAX_FORM_NAME,
  );
  if (!isFit || fields.length === 0 || fields.length > MAX_FORM_ARGUMENTS) return undefined;
  return {
    title: clipEnd(say('approval.edit_title', { tool }), MAX_FORM_NAME),
    value,
    fields: fields.map(({ name, text, isJson }, at) => ({
      name: fieldName(at),
      label: name,
      description: isJson ? say('approval.edit_json') : undefined,
      value: text,
      maxLength: MAX_FORM_TEXT,
      lines: 'many',
      required: false,
    })),
  };
}

/** The answer to a form of which some fields are no JSON. */
function rejected(
  request: ApprovalRecord,
  names: readonly string[],
  fields: Readonly<Record<string, string>>,
  say: Say,
): PressAnswer {
  const problem = say('decided.not_json', { names: names.join(', ') });
  const all = Object.keys(readArgs(request.args));
  return {
    reply: `${say('decided.bad_args', { problem })}${returned(request, fields)}`,
    problems: Object.fromEntries(
      names.map((name) => [fieldName(all.indexOf(name)), say('approval.edit_json')]),
    ),
  };
}

/** The problem at the fields of the arguments that it names, or at the first. */
function problemsOf(names: readonly string[], problem: string, reply: string): Record<string, string> {
  const found = Object.entries(problemsByArgument(names, problem));
  if (found.length === 0) return { [fieldName(0)]: reply };
  return Object.fromEntries(found.map(([name, text]) => [fieldName(names.indexOf(name)), text]));
}

/** What was entered, as far as it fits: a form that was sent cannot be opened again with it. */
function returned({ args }: ApprovalRecord, fields: Readonly<Record<string, string>>): string {
  const lines = Object.keys(readArgs(args)).map((name, at) => `${name}: ${fields[fieldName(at)] ?? ''}`);
  return `\n\n${clipEnd(lines.join('\n'), MAX_RETURNED_CHARS)}`;
}
