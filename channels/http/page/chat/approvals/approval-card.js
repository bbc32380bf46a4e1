/** One question about a tool call: what would run, with which files, and the buttons that decide it. */
import { ApiError } from '../../api.ts';
import { h } from '../../dom.ts';
import { callArguments, visible } from './call-arguments.js';
import { nearTime, say, sayParts } from '../../texts.ts';
import { timeElement } from '../../times.ts';
import { messageOf } from '../../failures/in-place.ts';

/** @typedef {import('../../api.ts').Approval} Approval */

/** The gateway refuses a longer one. */
const MAX_REASON_CHARS = 500;

/**
 * The card of a question, with buttons for those who may decide.
 * @param {import('../../api.ts').Api} api
 * @param {Approval} approval
 * @param {boolean} mayDecide
 * @param {(note?: string) => Promise<void>} finish called once it is decided, here or elsewhere, with a note to show, if any
 */
export function approvalCard(api, approval, mayDecide, finish) {
  const { id, tool, files, warning, expiresAt, mayAlways } = approval;
  const errorText = h('p', { class: 'error-text', role: 'alert' });
  const reason = reasonField();
  const deny = () => void decide('denied', reason.value.trim() === '' ? {} : { reason: reason.value.trim() });
  const approveAlways = () => void decide('approved', { always: true });
  const buttons = [
    button('approve', { class: 'primary', onclick: () => void decide('approved') }),
    ...(mayAlways
      ? [button('always', { title: say('page.approval.always_hint'), onclick: approveAlways })]
      : []),
    button('deny', { class: 'danger', onclick: deny }),
  ];
  /**
   * @param {import('../../api.ts').ApprovalDecision} decision
   * @param {{ reason?: string, always?: boolean }} [detail]
   */
  const decide = async (decision, detail = {}) => {
    let note;
    for (const button of buttons) button.disabled = true;
    try {
      const { rule } = await api.decideApproval(id, decision, detail);
      if (detail.always === true && rule !== 'stored') note = say('page.approval.not_kept');
    } catch (error) {
      // It was decided elsewhere or has expired: the list shows the outcome.
      if (!(error instanceof ApiError && error.status < 500 && error.status !== 0)) {
        errorText.textContent = messageOf(error);
        for (const button of buttons) button.disabled = false;
        return;
      }
    }
    await finish(note);
  };
  return h(
    'section',
    { 'data-approval': id, class: 'approval', 'aria-label': say('page.approval.of', { tool }) },
    h('p', { class: 'approval-title' }, ...sayParts('page.approval.may_i', { tool: h('code', {}, tool) })),
    ...callArguments(approval),
    ...files.flatMap(describeFile),
    h('p', {}, warning),
    h(
      'div',
      { class: 'approval-foot' },
      ...(mayDecide ? [...buttons, reason] : [h('span', {}, say('page.approval.not_yours'))]),
      h(
        'span',
        { class: 'quiet' },
        ...sayParts('page.approval.until', { time: timeElement(expiresAt, nearTime) }),
      ),
    ),
    errorText,
  );
}

/**
 * @param {'approve' | 'always' | 'deny'} name
 * @param {Record<string, unknown>} attributes
 */
function button(name, attributes) {
  return h('button', { type: 'button', ...attributes }, say(`page.approval.${name}`));
}

/** The field for the reason of a refusal. */
function reasonField() {
  return h('input', {
    type: 'text',
    class: 'approval-reason',
    maxlength: MAX_REASON_CHARS,
    'aria-label': say('page.approval.reason'),
    placeholder: say('page.approval.why_not'),
    autocomplete: 'off',
  });
}

/**
 * A file that the arguments or another file name, with its content if that is short.
 * @param {Approval['files'][number]} file
 */
function describeFile(file) {
  const name = h('code', {}, visible(file.path));
  const place = file.namedIn === undefined ? undefined : h('code', {}, visible(file.namedIn));
  if ('problem' in file) {
    const { problem } = file;
    return [
      h(
        'p',
        {},
        ...(place === undefined
          ? sayParts('page.approval.file_unshown', { name, problem })
          : sayParts('page.approval.file_unshown_in', { place, name, problem })),
      ),
    ];
  }
  const { bytes, sha256, text } = file;
  const described = { name, bytes: String(bytes), sha: h('code', {}, sha256) };
  const heading = h(
    'p',
    {},
    ...(place === undefined
      ? sayParts('page.approval.file', described)
      : sayParts('page.approval.file_in', { place, ...described })),
  );
  const notes = text === undefined ? [h('p', {}, say('page.approval.file_long'))] : [];
  const content = text ? [h('pre', { tabindex: '0' }, visible(text))] : [];
  return [heading, ...notes, ...content];
}
